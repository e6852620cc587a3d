package uistream_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The tests leak no goroutines.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
