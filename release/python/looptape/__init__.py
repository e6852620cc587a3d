"""Test agent loops: scripted and recorded model responses over HTTP, and checks of recorded runs.

``serve`` serves a scenario as a strict fake of OpenAI, Anthropic and Gemini, ``replay`` serves a
recording, and ``record`` makes one. Each starts the command ``looptape`` and returns a running
Server, whose ``env`` has the environment variables that the official SDKs read::

    with serve("weather.yaml") as fake:
        run_agent(base_url=fake.base_urls["openai"])

``close``, which ``with`` calls, raises LooptapeError with the report if a request was wrong or a
response was not used. A server that is not closed makes the process fail in this case. ``check``
and ``assert_check`` check recorded runs. The fixtures ``looptape_serve`` and ``looptape_replay`` do
the same in pytest.

Each keyword argument is the flag of the command with the same name.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
import weakref
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Type, Union

__all__ = ["LooptapeError", "Server", "assert_check", "binary", "check", "record", "replay", "serve"]

__tracebackhide__ = True  # pytest shows the line of the test

_Path = Union[str, "os.PathLike[str]"]
_Strings = Union[str, Iterable[str]]


class LooptapeError(Exception):
    """The command failed, or reports a failure of what it tested.

    ``report`` is the JSON report of the command, None if it has none. ``status`` is its exit status,
    None if it did not start. The text of the exception has the report for people.
    """

    def __init__(self, text: str, status: Optional[int] = None, report: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(text, status, report)
        self.status = status
        self.report = report

    def __str__(self) -> str:
        return str(self.args[0])

    def add_to(self, error: BaseException) -> None:
        """Add this report to an exception that is raised in its place."""
        if hasattr(error, "add_note"):
            error.add_note(str(self))
            return
        seen: Set[int] = set()
        while True:  # before Python 3.11
            seen.add(id(error))
            following = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            if following is None or id(following) in seen:
                break
            error = following
        self.__context__ = self.__traceback__ = error.__cause__ = None  # no cycle, and no lines of this module
        error.__context__, error.__suppress_context__ = self, False


class Server:
    """A running ``looptape serve``, ``replay`` or ``record``. It ends with this process at the latest.

    If it is not closed by then, its result is on standard error, and the exit status is not 0, if ``close``
    would raise. There is a ResourceWarning, too.

    ``url`` is its address, ``base_urls`` has the base URL for each provider, and ``env`` the environment
    variables for a program that uses it. ``report`` is the report of the command after ``close``. A
    server is safe for use by many threads. A forked process can send requests, but not close it.
    """

    _limit = 30.0  # seconds that the command has to print its address, and to end
    _closed = True  # until it is started

    def __init__(self, arguments: Sequence[str]) -> None:
        command = [binary(), *arguments, "--format", "json", "--until-eof"]
        self.report: Optional[Dict[str, Any]] = None
        self._arguments = list(arguments)
        self._owner = os.getpid()
        self._closing = threading.Lock()
        self._number = next(_numbers)
        self._test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        self._stderr = tempfile.TemporaryFile()  # not a pipe, which could fill up
        # Ctrl-C must not end the server before the test.
        group: Dict[str, Any] = {"start_new_session": True}
        if os.name == "nt":
            group = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP")}
        with _forking:
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, **group
                )
            except OSError as error:
                self._stderr.close()
                raise _not_started(command, error) from error
            _running.add(self)
            _processes[self._number] = (self._process, self._stderr)
        limit = threading.Timer(self._limit, self._process.kill)
        limit.start()
        try:
            line = self._process.stdout.readline()  # type: ignore[union-attr]
            address = json.loads(line or "{}")
            self.url: str = address["url"]
            self.base_urls: Dict[str, str] = address["base_urls"]
            self.env: Dict[str, str] = address["env"]
        except (ValueError, KeyError, TypeError):
            if line:
                self._process.kill()
            _, text = self._end()
            if line:
                text = f"{command[0]}: unexpected output instead of the address: {line!r}"
            raise _failed(arguments, self._process.returncode, text or "The command printed nothing.", None) from None
        except BaseException:
            self._process.kill()
            self._end()
            raise
        finally:
            limit.cancel()
        self._closed = False

    def __del__(self) -> None:
        if not self._closed and self._owner == os.getpid() and self not in _lost:
            _lost.append(self)  # the server exists again, until _close
            warnings.warn(f"{self._unclosed()}: {_command(self._arguments)}", ResourceWarning, source=self)

    def _unclosed(self) -> str:
        return f"{self._test or 'this process'} did not close a server: use with, or call close"

    def close(self) -> Optional[Dict[str, Any]]:
        """Stop the server and return its report. Closing it again has no effect.

        Raises LooptapeError if the exit status of the command is not 0.
        """
        if os.getpid() != self._owner:
            return None
        with self._closing:
            if self._closed:
                return self.report
            self._closed = True
            out, text = self._end()
            try:
                self.report = json.loads(out)
            except ValueError:
                pass  # the text has the reason
        if self._process.returncode != 0 or self.report is None:
            raise _failed(self._arguments, self._process.returncode, text, self.report)
        return self.report

    def _end(self) -> Tuple[bytes, str]:
        """End the command and return its output and its text."""
        with _forking, self._process.stdin:  # type: ignore[union-attr]
            pass  # the end of its standard input
        self._process.stdin = None
        try:
            out, _ = self._process.communicate(timeout=self._limit)
        except subprocess.TimeoutExpired:
            self._process.kill()
            out, _ = self._process.communicate()
        with self._stderr:
            _processes.pop(self._number, None)
            self._stderr.seek(0)
            return out, self._stderr.read().decode(errors="replace")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Any) -> None:
        try:
            self.close()
        except LooptapeError as failed:
            if _KEPT.isdisjoint(f"{kind.__module__}.{kind.__name__}" for kind in type(error).__mro__):
                raise failed from error
            failed.add_to(error)  # type: ignore[arg-type]


# The exceptions that a report does not replace: they end the process, or skip the test.
_KEPT = {"builtins.KeyboardInterrupt", "_pytest.outcomes.OutcomeException", "_pytest.outcomes.Exit", "unittest.case.SkipTest"}

_numbers = itertools.count()  # of servers
_lost: List[Server] = []  # not closed, and without another reference
_processes: Dict[int, Any] = {}  # a reference, without which the garbage collector closes their pipes before Server.__del__


def _unclosed(first: int) -> List[Server]:
    """Return the servers that are not closed, in the order of their start, from a number on."""
    for server in sorted(_running, key=lambda server: server._number):
        if server._number >= first:
            try:
                server.__del__()
            except ResourceWarning as warning:  # an error by -W
                print(f"ResourceWarning: {warning}", file=sys.stderr)
    return sorted((server for server in _lost if server._number >= first), key=lambda server: server._number)


def _close(servers: Iterable[Server]) -> Optional[LooptapeError]:
    """Close servers and return what failed."""
    failed = []
    for server in servers:
        try:
            server.close()
        except LooptapeError as error:
            if server in _lost:
                error = LooptapeError(f"{server._unclosed()}\n\n{error}", error.status, error.report)
            failed.append(error)
        if server in _lost:
            _lost.remove(server)
    if len(failed) > 1:
        return LooptapeError("\n\n".join(map(str, failed)))
    return failed[0] if failed else None


class _FailingStream:
    """Standard error whose last flush fails, which sets the exit status of Python to 120.

    In contrast to os._exit, all other exit handlers run, and open files are written.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def flush(self) -> None:
        self._stream.flush()
        if sys.is_finalizing():
            raise OSError("a server of looptape was not closed")


@atexit.register
def _exit() -> None:
    error = _close(_unclosed(0))
    if error:
        print(f"looptape: {error}", file=sys.stderr, flush=True)
        if not hasattr(sys, "last_type"):  # no other exception ended the process
            sys.stderr = _FailingStream(sys.stderr)  # type: ignore[assignment]


# A forked process must not keep the pipe whose end stops a server, also not if the server is just starting or ending.
_running: weakref.WeakSet[Server] = weakref.WeakSet()
_forking = threading.Lock()


def _forked() -> None:
    for server in [*_running, *_lost]:
        if server._process.stdin:
            server._process.stdin.close()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_forked)


def serve(
    scenario: _Path,
    *,
    quirk: _Strings = (),
    suppress: Optional[Mapping[str, str]] = None,
    allow_unused: bool = False,
    key: Optional[str] = None,
    model: _Strings = (),
    delays: bool = False,
    timeout: Optional[float] = None,
    max_requests: Optional[int] = None,
    addr: Optional[str] = None,
    no_token: bool = False,
    allow_origin: _Strings = (),
    max_body: Optional[int] = None,
) -> Server:
    """Serve a scenario as a strict fake of the providers; ``looptape serve --help`` has the details.

    The arguments are the flags of the command: ``quirk="QO-01"`` or a list adds deviations of real
    providers, ``suppress={"INV-07": "the step limit"}`` accepts violations, ``timeout`` is in seconds,
    and ``max_body`` in MiB.
    """
    return Server(["serve", _path(scenario), *_flags(
        quirk=quirk, suppress=suppress, allow_unused=allow_unused, key=key, model=model, delays=delays,
        timeout=None if timeout is None else f"{timeout:f}s", max_requests=max_requests,
        addr=addr, no_token=no_token, allow_origin=allow_origin, max_body=max_body,
    )])


def replay(
    file: _Path,
    *,
    allow_unused: bool = False,
    delay_factor: Optional[float] = None,
    ignore: _Strings = (),
    secret: _Strings = (),
    upstream: Optional[Mapping[str, str]] = None,
    report: Optional[_Path] = None,
    addr: Optional[str] = None,
    no_token: bool = False,
    allow_origin: _Strings = (),
    max_body: Optional[int] = None,
) -> Server:
    """Serve the responses of a recording, without a network; ``looptape replay --help`` has the details.

    The arguments are the flags of the command: ``upstream={"my": "http://example.com/v1"}`` names
    servers, and ``report`` is a file to which the used interactions are appended.
    """
    return Server(["replay", _path(file), *_flags(
        allow_unused=allow_unused, delay_factor=delay_factor, ignore=ignore, secret=secret, upstream=upstream,
        report=report, addr=addr, no_token=no_token, allow_origin=allow_origin, max_body=max_body,
    )])


def record(
    file: _Path,
    *,
    upstream: Optional[Mapping[str, str]] = None,
    ignore: _Strings = (),
    secret: _Strings = (),
    not_secret: _Strings = (),
    addr: Optional[str] = None,
    no_token: bool = False,
    allow_origin: _Strings = (),
    max_body: Optional[int] = None,
) -> Server:
    """Record the requests of a program and their responses; ``looptape record --help`` has the details.

    The arguments are the flags of the command: ``upstream={"openai": "http://localhost/v1"}`` names
    servers in place of the providers.
    """
    return Server(["record", *_flags(
        output=file, upstream=upstream, ignore=ignore, secret=secret, not_secret=not_secret,
        addr=addr, no_token=no_token, allow_origin=allow_origin, max_body=max_body,
    )])


def check(paths: Union[_Path, Iterable[_Path]], *, strict: bool = False, allow_empty: bool = False) -> Dict[str, Any]:
    """Check recorded runs and return the report of ``looptape check --format json``.

    Its member ``ok`` is whether the exit status is 0. ``paths`` are files and folders. Raises
    LooptapeError if the command has no report.
    """
    arguments = _checking(paths, strict, allow_empty)
    done = _run([*arguments, "--format", "json"])
    try:
        report: Dict[str, Any] = json.loads(done.stdout)
        return {"ok": done.returncode == 0, **report}
    except ValueError:
        raise _failed(arguments, done.returncode, done.stderr.decode(errors="replace"), None) from None


def assert_check(paths: Union[_Path, Iterable[_Path]], *, strict: bool = False, allow_empty: bool = False) -> None:
    """Check recorded runs.

    ``paths`` are files and folders. Raises LooptapeError with the report if the exit status of
    ``looptape check`` is not 0: a run violates an invariant, or a file cannot be read.
    """
    paths = _paths(paths)
    arguments = _checking(paths, strict, allow_empty)
    done = _run(arguments)
    if done.returncode != 0:
        text = (done.stdout + done.stderr).decode(errors="replace")
        raise _failed(arguments, done.returncode, text, check(paths, strict=strict, allow_empty=allow_empty))


def _checking(paths: Union[_Path, Iterable[_Path]], strict: bool, allow_empty: bool) -> List[str]:
    return ["check", *map(_path, _paths(paths)), *_flags(strict=strict, allow_empty=allow_empty)]


def _paths(paths: Union[_Path, Iterable[_Path]]) -> List[_Path]:
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)


def _run(arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    command = [binary(), *arguments]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    except OSError as error:
        raise _not_started(command, error) from error


def _not_started(command: Sequence[str], error: OSError) -> LooptapeError:
    return LooptapeError(f"{command[0]}: {error.strerror}: is it the command for this platform?")


def _command(arguments: Sequence[str]) -> str:
    return " ".join(map(shlex.quote, ["looptape", *arguments]))


def _failed(arguments: Sequence[str], status: int, text: str, report: Optional[Dict[str, Any]]) -> LooptapeError:
    ended = f"exit status {status}" if status >= 0 else f"ended by signal {-status}"
    return LooptapeError("\n\n".join([f"{_command(arguments)}: {ended}", text.strip(), *_hints(arguments, text, report)]), status, report)


def _hints(arguments: Sequence[str], text: str, report: Optional[Dict[str, Any]]) -> Iterator[str]:
    """Yield causes of a failure that only this process can find."""
    files = [path for path in arguments[1:] if not path.startswith("--")]
    if any(not os.path.isabs(path) and not os.path.exists(path) for path in files):
        yield f"The current folder is {os.getcwd()}"
    if arguments[0] == "serve" and _is_recording(files[0]):
        yield f"{files[0]} is a recording: serve it with replay, or with the fixture looptape_replay"
    if arguments[0] != "check" and report and not report.get("requests") and ("No request came" in text or "not used" in text):
        import urllib.request  # slow

        if urllib.request.getproxies().keys() & {"http", "all"} and not urllib.request.proxy_bypass("127.0.0.1"):
            yield (
                "The environment has a proxy (http_proxy or all_proxy), and NO_PROXY does not exclude 127.0.0.1: "
                "a client that uses the proxy does not reach the server. Set the variables of env, or NO_PROXY=127.0.0.1,localhost."
            )


def _is_recording(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(17) == b"looptape-cassette"
    except OSError:
        return False


def _path(path: _Path) -> str:
    """Return a path that is not read as a flag, nor as the standard input."""
    path = os.fspath(path)
    return os.path.join(".", path) if path.startswith("-") else path


def _flags(**options: Any) -> List[str]:
    """Return the flags of a command. None, False and empty collections are omitted."""
    flags = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        if isinstance(value, Mapping):
            value = [f"{key}={text}" for key, text in value.items()]
        elif isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
            value = [value]
        flag = "--" + name.replace("_", "-")
        flags += [flag if one is True else f"{flag}={os.fspath(one) if isinstance(one, os.PathLike) else one}" for one in value]
    return flags


def binary() -> str:
    """Return the path of the command: that of the variable LOOPTAPE_BINARY, or the one in this package."""
    name = "looptape.exe" if os.name == "nt" else "looptape"
    path = os.environ.get("LOOPTAPE_BINARY") or os.path.join(os.path.dirname(__file__), "bin", name)
    found = shutil.which(path)
    if found is None:
        raise LooptapeError(f"{path}: command not found: install the wheel of looptape for this platform with pip, or set LOOPTAPE_BINARY")
    return found
