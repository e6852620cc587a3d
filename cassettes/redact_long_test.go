package cassettes

import (
	"math/rand/v2"
	"testing"
)

// A long secret is taken from its place, and as much of it as a header holds from elsewhere.
func TestLongSecret(t *testing.T) {
	for _, length := range []int{mostEcho, mostEcho + 1, 5 << 20} {
		secret := randomWord(rand.New(rand.NewPCG(1, 2)), letters+digits, length)
		x := &Interaction{Request: Request{Body: []byte(`{"password":"` + secret + `","a":["is ` + secret + `"]}`)}}
		mark := Mark(secret)
		want := `{"password":"` + mark + `","a":["is ` + mark + secret[mostEcho:] + `"]}`
		if got := string((&Options{}).Redacted(x).Request.Body); got != want {
			t.Errorf("of %d bytes: %.200s…, want %.200s…", length, got, want)
		}
	}
}
