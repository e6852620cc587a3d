package cassettes_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/looptape/looptape/cassettes"
)

// TestWeather is a test of a client. Record its cassette with
// LOOPTAPE=record go test -run TestWeather.
func TestWeather(t *testing.T) {
	if got, want := weather(t), "200 OK: yes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func weather(t testing.TB) string {
	t.Helper()
	c := cassettes.ForTest(t, nil)
	resp, err := c.Client().Get("http://weather.example/rain?in=Bern") //nolint:noctx // an example
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s: %s", resp.Status, body)
}

// A test replays testdata/cassettes/TestWeather.tape. It fails if a request was not
// recorded, or if it does not use all interactions.
func ExampleForTest() {
	t := &watched{T: &testing.T{}, name: "TestWeather"} // a *testing.T in a test
	fmt.Println(weather(t))
	for _, f := range t.cleanup { // a *testing.T calls them at the end of the test
		f()
	}
	fmt.Println("failed:", t.Failed())
	// Output:
	// 200 OK: yes
	// failed: false
}
