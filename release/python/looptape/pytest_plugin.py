"""Fixtures of pytest for looptape. Importing it needs pytest 7 or later."""

from __future__ import annotations

from typing import Any, Callable, Generator, List, Optional

import pytest

import looptape

__tracebackhide__ = True

_servers = pytest.StashKey[List[looptape.Server]]()


@pytest.fixture
def looptape_serve(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[..., looptape.Server], None, None]:
    """Serve scenarios in a test: ``fake = looptape_serve("weather.yaml")``.

    It takes the arguments of looptape.serve. The environment of the test has the variables of ``fake.env``,
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
        server = start(*args, **options)
        servers.append(server)
        for name, value in server.env.items() if setenv else ():
            monkeypatch.setenv(name, value)
        return server

    yield starter
    error = _close(servers)  # of a test that is not a function
    if error:
        raise _failure(error)


def _close(servers: List[looptape.Server]) -> Optional[looptape.LooptapeError]:
    """Close servers and return what failed."""
    failed = []
    for server in servers:
        try:
            server.close()
        except looptape.LooptapeError as error:
            failed.append(error)
    if len(failed) > 1:
        return looptape.LooptapeError("\n\n".join(map(str, failed)))
    return failed[0] if failed else None


def _failure(error: looptape.LooptapeError) -> BaseException:
    return pytest.fail.Exception(str(error), pytrace=False)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, None]:
    """Close the servers of a test at its end, so that the test fails and not its teardown."""
    outcome = yield
    error = _close(pyfuncitem.stash.get(_servers, []))
    if error is None:
        return
    if outcome.excinfo:
        error.add_to(outcome.excinfo[1])
    elif hasattr(outcome, "force_exception"):  # pluggy 1.1 or later
        outcome.force_exception(_failure(error))
    else:
        raise _failure(error)
