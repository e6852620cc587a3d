package store_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/loop/store/storetest"
)

// kills is the number of processes that are killed in the middle of a save; the flag -kills sets it.
var kills = flag.Int("kills", 5, "how many processes are killed in the middle of a save")

// TestMain checks that no goroutine outlives the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	storetest.Suite{InMemory: true, Open: func(string) (store.Store, error) { return new(store.Memory), nil }}.Test(t)
}

func TestDisk(t *testing.T) {
	storetest.Suite{Kills: *kills, Open: func(dir string) (store.Store, error) { return &store.Disk{Dir: dir}, nil }}.Test(t)
}
