package codec_test

import (
	"testing"

	"github.com/looptape/looptape/providers/internal/codec"
)

func TestRetryable(t *testing.T) {
	for status, want := range map[int]bool{
		200: false, 400: false, 401: false, 403: false, 404: false, 408: true, 409: true, 413: false, 422: false,
		429: true, 499: false, 500: true, 501: false, 502: true, 503: true, 504: true, 505: false, 529: true,
	} {
		if got := codec.Retryable(status); got != want {
			t.Errorf("status %d: %t, want %t", status, got, want)
		}
	}
}
