"""Fixtures of pytest for looptape. Importing it needs pytest 7 or later."""

from __future__ import annotations

import os
from typing import Any, Callable, Generator, List, Optional

import pytest

import looptape

__tracebackhide__ = True

_servers = pytest.StashKey[List[looptape.Server]]()
_first = pytest.StashKey[int]()  # number of servers that the session can start


@pytest.fixture
def looptape_serve(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[..., looptape.Server], None, None]:
    """Serve scenarios in a test: ``fake = looptape_serve("weather.yaml")``.

    It takes the arguments of looptape.serve. A file that is not in the current folder is searched in that of
    the test. The environment of the test has the variables of ``fake.env``,
    unless ``setenv=False``. The server is closed at the end of the test, which fails with its report.
    """
    yield from _starter(looptape.serve, request, monkeypatch)


@pytest.fixture
def looptape_replay(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[..., looptape.Server], None, None]:
    """Replay recordings in a test, as looptape_serve does: ``tape = looptape_replay("weather.tape")``."""
    yield from _starter(looptape.replay, request, monkeypatch)


def _starter(start: Callable[..., looptape.Server], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[..., looptape.Server], None, None]:
    servers = request.node.stash.setdefault(_servers, [])

    def starter(*args: Any, setenv: bool = True, **options: Any) -> looptape.Server:
        if args and not os.path.exists(args[0]) and (request.path.parent / args[0]).exists():
            args = (request.path.parent / args[0], *args[1:])
        server = start(*args, **options)
        servers.append(server)
        for name, value in server.env.items() if setenv else ():
            monkeypatch.setenv(name, value)
        return server

    yield starter
    error = looptape._close(servers)  # of a test that is not a function
    if error:
        raise _failure(error)


def _failure(error: looptape.LooptapeError) -> BaseException:
    return pytest.fail.Exception(str(error), pytrace=False)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, None]:
    """Close the servers of a test at its end, so that the test fails and not its teardown."""
    outcome = yield
    _fail(outcome, [*pyfuncitem.stash.get(_servers, []), *_lost(pyfuncitem)])


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: Optional[pytest.Item]) -> Generator[None, Any, None]:
    """Close the servers that a fixture or the session did not close."""
    outcome = yield
    _fail(outcome, _lost(item) if nextitem else looptape._unclosed(item.session.stash.get(_first, 0)))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    session.stash[_first] = next(looptape._numbers)


def _lost(item: pytest.Item) -> List[looptape.Server]:
    """Return the servers that a test did not close, and to which it has no reference any more."""
    return [server for server in looptape._lost if server._test == item.nodeid]


def _fail(outcome: Any, servers: List[looptape.Server]) -> None:
    """Close servers. If one failed, so does the outcome of a hook."""
    error = looptape._close(servers)
    if error is None:
        return
    if outcome.excinfo:
        error.add_to(outcome.excinfo[1])
    elif hasattr(outcome, "force_exception"):  # pluggy 1.1 or later
        outcome.force_exception(_failure(error))
    else:
        raise _failure(error)
