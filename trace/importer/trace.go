package importer

func (w *walker) trace() {}
