//go:build !race

package clients

// raceDetector is whether the tests look for data races.
const raceDetector = false
