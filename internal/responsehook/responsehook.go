// Package responsehook reports the HTTP responses of a model client to the code that called the
// model.
package responsehook

import "context"

type key struct{}

// With returns a context for model calls. A client calls f with the status of each HTTP response
// when its header has arrived, before it reads the body and on the goroutine of the call.
func With(ctx context.Context, f func(status int)) context.Context {
	return context.WithValue(ctx, key{}, f)
}

// Call calls the function of the context, if it has one.
func Call(ctx context.Context, status int) {
	if f, ok := ctx.Value(key{}).(func(int)); ok {
		f(status)
	}
}
