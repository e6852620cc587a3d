//go:build race

package cassettes_test

// raceDetector reports whether the test was built with the race detector.
const raceDetector = true
