package general

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sandboxes returns the sandboxes that work, the strongest first.
var sandboxes = sync.OnceValue(func() []sandbox {
	return slices.DeleteFunc([]sandbox{bubblewrap(), landlock()}, func(s sandbox) bool { return s.start == nil })
})

// bubblewrap returns a sandbox with the program bwrap. It has no start if the program is missing or may not
// create a sandbox.
func bubblewrap() sandbox {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return sandbox{}
	}
	wrap := func(cmd *exec.Cmd, dir string) {
		cmd.Path = bwrap
		cmd.Args = append([]string{
			bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
			"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run", "--bind", dir, dir, "--chdir", dir, "--",
		}, cmd.Args...)
		cmd.Env = append(cmd.Env, "TMPDIR=/tmp")
	}
	try := exec.Command("/bin/sh", "-c", ":") //nolint:noctx // it ends at once
	if wrap(try, os.TempDir()); try.Run() != nil {
		return sandbox{}
	}
	return sandbox{"bubblewrap, without network, with write access to the working folder only", func(cmd *exec.Cmd, dir string) (func(), error) {
		wrap(cmd, dir)
		return func() {}, cmd.Start()
	}}
}

// landlock returns a sandbox with Landlock. It has no start if the kernel has none, or one with which files
// outside can be truncated.
func landlock() sandbox {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || version < 3 {
		return sandbox{}
	}
	rules := unix.LandlockRulesetAttr{Handled_access_fs: changes}
	name := "Landlock, with write access to the working folder only"
	if version >= 4 {
		rules.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		name += ", without TCP"
	}
	if version >= 6 {
		rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return sandbox{name, func(cmd *exec.Cmd, dir string) (func(), error) {
		temp, err := os.MkdirTemp("", "looptape-")
		if err != nil {
			return nil, err
		}
		clean := func() { _ = os.RemoveAll(temp) }
		cmd.Env = append(cmd.Env, "TMPDIR="+temp)
		if err := startConfined(cmd, &rules, dir, temp); err != nil {
			clean()
			return nil, err
		}
		return clean, nil
	}}
}

// changes are the kinds of access of Landlock that change something. Rules do not concern the others.
const (
	changes = changesOfFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | devices
	changesOfFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	devices       = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// startConfined starts a command on a thread that is confined to some folders. The thread ends with its
// goroutine, which is locked to it.
func startConfined(cmd *exec.Cmd, rules *unix.LandlockRulesetAttr, dirs ...string) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := confine(rules, dirs)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// confine confines this thread, and the programs that it starts.
func confine(rules *unix.LandlockRulesetAttr, dirs []string) error {
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(rules)), unsafe.Sizeof(*rules), 0) //nolint:gosec // of a system call
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer unix.Close(int(set)) //nolint:errcheck // it has no content
	err := permit(set, os.DevNull, changesOfFile)
	for _, dir := range dirs {
		err = errors.Join(err, permit(set, dir, changes&^devices))
	}
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// permit permits access to a file or below a folder.
func permit(set uintptr, name string, access uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // it has no content
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 { //nolint:gosec // of a system call
		return errno
	}
	return nil
}

// maxKillRounds limits the searches for processes that are about to end.
const maxKillRounds = 10_000

// killMarked ends all processes with an environment variable, in whatever process group they are.
func killMarked(mark string) {
	for range maxKillRounds {
		found := false
		entries, _ := os.ReadDir("/proc") // without it there is nothing to find
		for _, e := range entries {
			if pid, err := strconv.Atoi(e.Name()); err == nil && killIfMarked(pid, mark) {
				found = true
			}
		}
		if !found {
			return
		}
	}
}

func killIfMarked(pid int, mark string) bool {
	p, err := os.FindProcess(pid) // from now on it is this process, even if another one gets its id
	if err != nil {
		return false
	}
	defer p.Release() //nolint:errcheck // there is nothing to do
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00")) && p.Kill() == nil
}
