"""Tests of the fixtures: each runs pytest on tests that pass or fail."""

import os
import signal
import socket
import subprocess
import sys
import urllib.parse

import pytest

import agents
import looptape

HEAD = """
import gc
import os
import unittest
import pytest
import agents
import looptape
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Return a function that runs pytest in another process on the text of tests, in a folder with weather.yaml."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    (pytester.path / "weather.yaml").write_text(agents.WEATHER)

    def run(text, *args):
        pytester.makepyfile(HEAD + text)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)

    return run


def test_right_and_broken_agents(run):
    result = run(
        """
def test_right(looptape_serve):
    looptape_serve("weather.yaml")
    assert agents.run() == "It rains in both."

def test_broken(looptape_serve):
    looptape_serve("weather.yaml")
    agents.run(omit=1)

def test_hides_error(looptape_serve):
    looptape_serve("weather.yaml")
    with pytest.raises(OSError):
        agents.run(omit=1)

def test_no_request(looptape_serve):
    looptape_serve("weather.yaml")

def test_two_servers(looptape_serve):
    looptape_serve("weather.yaml")
    looptape_serve("weather.yaml", quirk="QO-01")

@pytest.mark.xfail(strict=True)
def test_expected_failure(looptape_serve):
    looptape_serve("weather.yaml")

def test_skipped(looptape_serve):
    looptape_serve("weather.yaml")
    pytest.skip("later")

def test_closed(looptape_serve):
    fake = looptape_serve("weather.yaml")
    with pytest.raises(looptape.LooptapeError):
        fake.close()

def test_scenario_with_error(looptape_serve):
    looptape_serve("no.yaml")

def test_hides_error_of_context_manager():
    with pytest.raises(OSError), looptape.serve("weather.yaml") as fake:
        agents.run(fake.base_urls["openai"], omit=1)

def test_skipped_in_context_manager():
    with looptape.serve("weather.yaml"):
        pytest.skip("later")
"""
    )
    result.assert_outcomes(passed=2, failed=6, xfailed=1, skipped=2)
    # Where CI is set, pytest repeats each error in the summary at the end.
    text = result.stdout.str().partition("short test summary info")[0]
    assert text.count("INV-01     pairing") == 3
    assert text.count("No request came") == 3
    assert text.count("serve weather.yaml --quirk=QO-01: exit status ") == 1
    assert "no.yaml: no such file" in text or "no.yaml: The system cannot find" in text
    assert "looptape/__init__.py" not in text  # only lines of the tests
    assert "def test_broken" in text


def test_classes_and_parameters(run):
    result = run(
        """
class TestMethods:
    @pytest.mark.parametrize("omit", [0, 1])
    def test_method(self, looptape_serve, omit):
        looptape_serve("weather.yaml")
        agents.run(omit=omit)

class TestUnit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def serve(self, looptape_serve):
        looptape_serve("weather.yaml")

    def test_right(self):
        agents.run()

    def test_no_request(self):
        pass
"""
    )
    result.assert_outcomes(passed=3, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of TestUnit.test_no_request*", "No request came*"])


def test_async(run):
    pytest.importorskip("anyio")
    result = run(
        """
import anyio

@pytest.mark.anyio
@pytest.mark.parametrize("omit", [0, 1])
async def test_agent(looptape_serve, omit):
    looptape_serve("weather.yaml")
    await anyio.to_thread.run_sync(agents.run, None, omit)

@pytest.mark.anyio
async def test_no_request(looptape_serve):
    looptape_serve("weather.yaml")

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""
    )
    result.assert_outcomes(passed=1, failed=2)


def test_environment(run, monkeypatch):
    """The variables are those of the server in the test alone, whatever else changes them."""
    for name in ["OPENAI_BASE_URL", "NO_PROXY"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "real-key")
    result = run(
        """
KEYS = ["OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "GEMINI_API_KEY", "LOOPTAPE_URL", "NO_PROXY"]
BEFORE = {key: os.environ.get(key) for key in KEYS}

def test_set(looptape_serve):
    fake = looptape_serve("weather.yaml", allow_unused=True)
    for key in KEYS:
        assert os.environ[key] == fake.env[key]
    assert os.environ["OPENAI_API_KEY"] == "any-key"
    agents.run()

def test_changed_later(monkeypatch, looptape_serve):
    fake = looptape_serve("weather.yaml")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    with pytest.raises(OSError):
        agents.run()
    agents.run(fake.base_urls["openai"])

def test_changed_before(looptape_serve, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    looptape_serve("weather.yaml")
    agents.run()

def test_not_set(looptape_serve):
    fake = looptape_serve("weather.yaml", setenv=False)
    assert {key: os.environ.get(key) for key in KEYS} == BEFORE
    agents.run(fake.base_urls["openai"])

@pytest.fixture(autouse=True)
def check():
    yield
    assert {key: os.environ.get(key) for key in KEYS} == BEFORE
"""
    )
    result.assert_outcomes(passed=4)


NOT_CLOSED = """
def test_broken():
    fake = looptape.serve("weather.yaml")
    with pytest.raises(OSError):
        agents.run(fake.base_urls["openai"], omit=1)

def test_right():
    fake = looptape.serve("weather.yaml")
    agents.run(fake.base_urls["openai"])

@pytest.fixture
def fake():
    return looptape.serve("weather.yaml")

def test_fixture(fake):
    pass

def test_global():
    global kept
    kept = looptape.serve("weather.yaml")

@pytest.fixture(scope="session")
def shared():
    with looptape.serve("weather.yaml") as fake:
        yield fake

def test_shared(shared):
    pass

def test_last(shared):
    agents.run(shared.base_urls["openai"])
"""


@pytest.mark.parametrize("args", [[], ["-n", "1"]], ids=["", "xdist"])
def test_server_that_is_not_closed(run, args):
    """The test fails, or the last one, if another part of the process still had the server."""
    if args:
        pytest.importorskip("xdist")
    result = run(NOT_CLOSED, "-W", "default::ResourceWarning", *args)
    result.assert_outcomes(passed=5, failed=1, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "*test_fixture did not close a server: use with, or call close",
            "*ERROR at teardown of test_last*",
            "*test_global did not close a server: use with, or call close",
            "*ResourceWarning: *test_right did not close a server*",
        ]
    )
    text = result.stdout.str().partition("warnings summary")[0]
    assert (text.count("INV-01     pairing"), text.count("test_broken did not close"), text.count("No request came")) == (1, 1, 2)
    assert result.ret == 1
    assert "did not close" not in result.stderr.str()


def test_server_that_is_not_closed_before_and_after_the_tests(run, pytester):
    """Standard error has what no test can report. The exit status is that of pytest if it failed."""
    pytester.makeconftest(
        """
import looptape

fake = looptape.serve("weather.yaml")

def pytest_sessionfinish():
    global other
    other = looptape.serve("weather.yaml")
"""
    )
    result = run("def test_right(): pass")
    result.assert_outcomes(passed=1)
    assert result.ret == 120
    assert result.stderr.str().count("did not close a server") == 2
    result = run("def test_broken(): 1 / 0")
    assert result.ret == 1
    result = run("def test_broken(): 1 / 0\ndef test_right(): pass", "-x")
    assert result.ret == 1


def test_server_of_another_session(run):
    """The end of a session in a test does not close the servers of the test."""
    result = run(
        """
pytest_plugins = ["pytester"]

def test_inner(pytester, looptape_serve):
    fake = looptape_serve("../../weather.yaml" if os.path.exists("../../weather.yaml") else "weather.yaml")
    pytester.makepyfile("def test_right(): pass")
    assert pytester.inline_run("-p", "no:cacheprovider").ret == 0
    agents.run(fake.base_urls["openai"])
"""
    )
    result.assert_outcomes(passed=1)


def test_plugin_of_a_module(run):
    """The plugin can be loaded after the start of the session."""
    result = run('pytest_plugins = ["looptape.pytest_plugin"]\ndef test_global(): global kept; kept = looptape.serve("weather.yaml")', "-p", "no:looptape")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*test_global did not close a server*"])


def test_failed_test_is_not_blamed_on_the_next(run):
    result = run(
        """
def test_broken():
    fake = looptape.serve("weather.yaml")
    1 / 0

def test_right():
    gc.collect()

def test_last():
    pass
"""
    )
    result.assert_outcomes(passed=2, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_last*", "*test_broken did not close a server*"])


def test_folder_of_the_test(pytester, run):
    """A file is searched in the current folder, and then in that of the test."""
    tests = pytester.mkdir("tests")
    (tests / "weather.yaml").write_text("not used")
    (tests / "own.yaml").write_text(agents.WEATHER)
    (tests / "test_own.py").write_text(HEAD + """
@pytest.mark.parametrize("name", ["weather.yaml", "own.yaml", "missing.yaml"])
def test_agent(looptape_serve, name):
    looptape_serve(name)
    agents.run()
""")
    result = run("", "tests")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*The current folder is *"])


def test_replay(run, pytester):
    with looptape.serve(pytester.path / "weather.yaml") as fake:
        with looptape.record(pytester.path / "weather.tape", upstream={"openai": fake.base_urls["openai"]}) as proxy:
            agents.run(proxy.base_urls["openai"])
    result = run(
        """
def test_right(looptape_replay):
    looptape_replay("weather.tape")
    assert agents.run() == "It rains in both."

def test_unused(looptape_replay):
    looptape_replay("weather.tape")

def test_other_prompt(looptape_replay):
    looptape_replay("weather.tape")
    agents.run(prompt="Does it rain?")
"""
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*recorded interactions were not used*", '*recorded "How is the weather in Bern and in Rome?"'])


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted(pytester, monkeypatch, number):
    """No server outlives pytest."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    (pytester.path / "weather.yaml").write_text(agents.WEATHER)
    pytester.makepyfile(
        """
import agents

def test_slow(looptape_serve):
    print(looptape_serve("weather.yaml").url, flush=True)
    agents.wait()
"""
    )
    process = subprocess.Popen([sys.executable, "-m", "pytest", "-s", "-q"], stdout=subprocess.PIPE)
    url = urllib.parse.urlsplit(process.stdout.readline().strip().decode())
    with socket.create_connection((url.hostname, url.port)) as connection:
        connection.settimeout(8)
        process.send_signal(number)
        try:
            assert connection.recv(1) == b""
        except ConnectionResetError:
            pass
    out, _ = process.communicate()
    assert (b"KeyboardInterrupt" in out) == (number == signal.SIGINT)


def test_processes(run, pytester):
    """Several processes of pytest run the same tests concurrently."""
    text = HEAD + """
@pytest.mark.parametrize("i", range(3))
def test_right(looptape_serve, i):
    looptape_serve("weather.yaml")
    assert agents.run() == "It rains in both."
"""
    pytester.makepyfile(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        out, _ = process.communicate()
        assert b"3 passed" in out
