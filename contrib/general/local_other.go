//go:build !unix

package general

import (
	"context"
	"errors"
)

// Local returns an error: there is no /bin/sh on this system.
func Local(context.Context, Command) (Outcome, error) {
	return Outcome{}, errors.New("there is no /bin/sh on this system")
}
