package importer

// SetBatchSize sets the minimum length of the values that are read concurrently, and returns a
// function that restores it.
func SetBatchSize(size int) (restore func()) {
	old := batchSize
	batchSize = size
	return func() { batchSize = old }
}
