package wire

import "net/http"

// share lets in a client that runs in a browser, or in what imitates one, as the
// providers do. It answers what a browser asks before a request of its page, and
// reports whether r was that.
func share(w http.ResponseWriter, r *http.Request) (done bool) {
	if r.Header.Get("Origin") == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "*")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers")) // * is all but Authorization
	w.WriteHeader(http.StatusNoContent)
	return true
}
