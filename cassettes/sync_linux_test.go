package cassettes_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/looptape/looptape/cassettes"
)

// Of BPF (linux/filter.h) and seccomp (linux/seccomp.h).
const (
	loadWord     = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS
	jumpIfEqual  = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
	answerBy     = syscall.BPF_RET | syscall.BPF_K
	failWith     = 0x00050000
	allow        = 0x7fff0000
	noNewRights  = 38 // PR_SET_NO_NEW_PRIVS
	setFilter    = 22 // PR_SET_SECCOMP
	filterByCall = 2  // SECCOMP_MODE_FILTER
)

// unsyncable runs f in a thread in which each fsync fails. The thread ends with f.
func unsyncable(t *testing.T, f func()) {
	t.Helper()
	filter := []syscall.SockFilter{
		{Code: loadWord},
		{Code: jumpIfEqual, Jf: 1, K: syscall.SYS_FSYNC},
		{Code: answerBy, K: failWith | uint32(syscall.EIO)},
		{Code: answerBy, K: allow},
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // for good
		_, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewRights, 1, 0, 0, 0, 0)
		if err == 0 {
			_, _, err = syscall.RawSyscall6(syscall.SYS_PRCTL, setFilter, filterByCall, uintptr(unsafe.Pointer(&program)), 0, 0, 0)
		}
		if err == 0 {
			f()
		}
		done <- err
	}()
	if err := <-done; err != 0 {
		t.Skip("this system lets no test forbid itself to sync: ", err)
	}
}

// Replace syncs the new file before the rename.
func TestReplaceSyncs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tape")
	if err := cassettes.Replace(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	unsyncable(t, func() {
		if err := cassettes.Replace(path, []byte("new")); !errors.Is(err, syscall.EIO) {
			t.Errorf("it is not synced: %v", err)
		}
	})
	holds(t, path, "old")
}

// A recording is synced when it begins and before the end of each response.
func TestRecordSyncs(t *testing.T) {
	o := cassettes.Options{Mode: cassettes.Record, Transport: echo{}}
	unsyncable(t, func() {
		if _, err := cassettes.Open(filepath.Join(t.TempDir(), "a.tape"), &o); !errors.Is(err, syscall.EIO) {
			t.Errorf("its beginning is not synced: %v", err)
		}
	})
	c := open(t, filepath.Join(t.TempDir(), "b.tape"), o)
	unsyncable(t, func() {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://example.com/", strings.NewReader("a"))
		resp, err := c.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, syscall.EIO) {
			t.Errorf("the response ended before the sync: %v", err)
		}
		_ = resp.Body.Close() // it has failed
	})
	if err := c.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("closed: %v", err)
	}
}
