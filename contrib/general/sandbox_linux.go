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
	"time"
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
	const name = "bubblewrap. The command could change files in the working folder and a temporary folder only, and had no network. It can still read all files that its user can read."
	return sandbox{name, func(cmd *exec.Cmd, dir string) (func(), error) {
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
	name := "Landlock. The command could change the content of files in the working folder and a temporary folder only"
	network, signals := "use the network", ", send signals to other processes"
	if version >= 4 {
		rules.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		name += ", and had no TCP"
		network = "use UDP and Unix sockets"
	}
	if version >= 5 {
		rules.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		signals = ""
	}
	name += ". It can still read all files that its user can read, change permissions, owners and times of other files, " + network + signals + "."
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
// goroutine, which is locked to it. The command waits until then, because it has the rights of the thread on it: it
// could read the environment and write the memory of this process.
func startConfined(cmd *exec.Cmd, rules *unix.LandlockRulesetAttr, dirs ...string) error {
	wait, ready, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()               //nolint:errcheck // nothing was written
	cmd.ExtraFiles = []*os.File{wait} // number 3
	cmd.Args = append([]string{cmd.Path, "-c", `read -r end <&3; exec 3<&-; unset end; exec "$@"`}, append([]string{cmd.Path}, cmd.Args...)...)
	thread, err := onOtherThread(func() error {
		if err := confine(rules, dirs); err != nil {
			return err
		}
		return cmd.Start()
	})
	_ = wait.Close() // the command has it
	for range maxEndRounds {
		if err != nil || unix.Tgkill(unix.Getpid(), thread, 0) != nil {
			return err
		}
		time.Sleep(10 * time.Microsecond) //nolint:forbidigo // the kernel has no event for it
	}
	return errors.Join(errors.New("landlock: the thread that started the command did not end"), cmd.Process.Kill(), cmd.Wait())
}

// maxEndRounds limits the waits for the end of a thread, which takes some microseconds.
const maxEndRounds = 100_000

// onOtherThread calls f on a thread that ends then, and returns its id. It is not the main thread, which would not end.
func onOtherThread(f func() error) (id int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			id, err = onOtherThread(f)
			runtime.UnlockOSThread()
			return
		}
		id, err = unix.Gettid(), f()
	}()
	<-done
	return id, err
}

// filesOnly are the capabilities that commands need for files of other users in their folder.
const filesOnly = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

// dropCapabilities drops the capabilities of this thread except filesOnly. With others, a command of root could
// read other processes in spite of Landlock.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	for i, keep := range []uint32{filesOnly, 0} {
		sets[i].Effective &= keep
		sets[i].Permitted &= keep
		sets[i].Inheritable &= keep
	}
	return unix.Capset(&header, &sets[0])
}

// confine confines this thread, and the programs that it starts.
func confine(rules *unix.LandlockRulesetAttr, dirs []string) error {
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(rules)), unsafe.Sizeof(*rules), 0) //nolint:gosec // of a system call
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer unix.Close(int(set)) //nolint:errcheck // it has no content
	ioctl := rules.Handled_access_fs & unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	err := permit(set, os.DevNull, changesOfFile|ioctl)
	for _, dir := range dirs {
		err = errors.Join(err, permit(set, dir, changes&^devices))
	}
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err == nil {
		err = dropCapabilities()
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
