//go:build !unix

package general

import "context"

// hasLocal says whether Local can work.
const hasLocal = false

// Local returns an error: there is no /bin/sh on this system.
func Local(context.Context, Command) (Outcome, error) { return Outcome{}, errNoLocal }
