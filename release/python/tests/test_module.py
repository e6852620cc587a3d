"""Tests of the module without its fixtures."""

import asyncio
import gc
import importlib.util
import inspect
import json
import multiprocessing
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import unittest
import urllib.error
import urllib.parse
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import pytest

import agents
import looptape
from looptape import LooptapeError, assert_check, check, record, replay, serve

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
ENV = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}  # for programs that import agents
CLIENTS = {"urllib.request": agents.post_urllib, "requests": agents.post_requests, "httpx": agents.post_httpx}


def client(name):
    """Return the function of a client that is installed. LOOPTAPE_PYTEST makes all mandatory."""
    if not importlib.util.find_spec(name):
        assert not os.environ.get("LOOPTAPE_PYTEST"), f"{name} is not installed: run .ci/tools pytest"
        pytest.skip(f"{name} is not installed")
    return CLIENTS[name]


@pytest.mark.parametrize("name", CLIENTS)
def test_right_agent(weather, name):
    post = client(name)
    with serve(weather) as fake:
        assert set(fake.base_urls) == {"openai", "anthropic", "gemini"}
        assert fake.env["OPENAI_BASE_URL"] == fake.base_urls["openai"]
        assert fake.base_urls["openai"].startswith(fake.url)
        assert agents.run(fake.base_urls["openai"], post=post) == "It rains in both."
    assert fake.report["requests"] == 2
    assert fake.report["violations"] == []


@pytest.mark.parametrize("name", CLIENTS)
def test_broken_agent(weather, name):
    post = client(name)
    fake = serve(weather)
    with pytest.raises(Exception, match="400"):
        agents.run(fake.base_urls["openai"], omit=1, post=post)
    with pytest.raises(LooptapeError) as caught:
        fake.close()
    error = caught.value
    assert error.status == 1
    assert error.report is fake.report
    assert [v["invariant"] for v in error.report["violations"]] == ["INV-01"]
    for part in ["looptape serve '", "Züri.yaml': exit status 1", "INV-01", "LIKELY CAUSE", "Append one result", "was never requested", "2 requests served"]:
        assert part in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.status, again.report) == (str(error), 1, error.report)


@pytest.mark.parametrize("body", [OSError(), SystemExit(0), GeneratorExit(), asyncio.CancelledError()], ids=repr)
def test_error_of_body_does_not_hide_the_report(weather, body):
    with pytest.raises(LooptapeError, match="No request came") as caught:
        with pytest.raises(type(body)), serve(weather):
            raise body
    assert caught.value.__cause__ is body
    text = "".join(traceback.format_exception(LooptapeError, caught.value, None))
    assert text.index(type(body).__name__) < text.index("No request came")


class OwnSkip(unittest.SkipTest):
    pass


@pytest.mark.parametrize("body", [KeyboardInterrupt(), OwnSkip(), pytest.skip.Exception("later"), pytest.xfail.Exception("later"), pytest.exit.Exception("now")], ids=repr)
def test_interrupts_and_skips_are_kept(weather, body):
    with pytest.raises(type(body)) as caught:
        with serve(weather):
            raise body
    assert caught.value is body
    assert "No request came" in "".join(traceback.format_exception(type(body), body, None))


def test_two_servers_with_one_broken_agent(weather):
    with pytest.raises(LooptapeError, match="No request came") as caught:
        with serve(weather), serve(weather) as fake:
            agents.run(fake.base_urls["openai"], omit=1)
    assert "INV-01     pairing" in str(caught.value.__cause__)
    assert isinstance(caught.value.__cause__.__cause__, urllib.error.HTTPError)


class Old(ValueError):
    add_note = property()  # as before Python 3.11: hasattr is false


@pytest.mark.parametrize("cause", ["raise ValueError('body')", "raise ValueError('body') from None", "raise ValueError('body') from OSError('cause')"])
def test_error_before_python_3_11(weather, cause):
    """Without notes, the report is the first exception of the chain."""
    try:
        try:
            {}["key"]
        except KeyError:
            exec(cause.replace("ValueError", "Old"), {"Old": Old})
    except Old as body:
        try:
            raise LooptapeError("the report")
        except LooptapeError as error:
            error.add_to(body)
            assert error.__context__ is error.__traceback__ is None
        text = "".join(traceback.format_exception(type(body), body, None))
    assert text.count("the report") == 1
    assert text.rstrip().endswith("body")
    assert text.index("the report") < text.index("body")


@pytest.mark.parametrize("cycle", ["a.__cause__ = a", "a.__context__ = a", "a.__cause__, b.__cause__ = b, a", "a.__cause__, b.__context__ = b, a"])
def test_error_with_a_cycle_before_python_3_11(cycle):
    a, b = Old("a"), Old("b")
    exec(cycle, {"a": a, "b": b})
    LooptapeError("the report").add_to(a)
    assert "".join(traceback.format_exception(Old, a, None)).count("the report") == 1
    with pytest.raises(Old) as caught:
        raise a
    assert "the report" in str(caught.getrepr(style="short"))


def test_scenario_with_error(weather):
    weather.write_text(agents.WEATHER.replace("name: weather, arguments: {city: Rome}", "nme: weather"), encoding="utf-8")
    with pytest.raises(LooptapeError, match=r'Züri\.yaml:6:\d+: unknown key in a call "nme"') as caught:
        serve(weather)
    assert (caught.value.status, caught.value.report) == (2, None)


def test_no_request(weather):
    with pytest.raises(LooptapeError, match="No request came"):
        with serve(weather):
            pass


def test_close_twice(weather):
    with pytest.raises(LooptapeError, match="No request came"):
        with serve(weather) as fake:
            fake.close()
    assert fake.close() is fake.report
    assert fake.report["requests"] == 0


def test_options(weather):
    with serve(weather, quirk=["QO-01", "QO-22"], suppress={"INV-07": "the step limit"}, allow_unused=True, key="my-key", model="gpt-5", timeout=60, max_requests=10, max_body=1, allow_origin="*", no_token=True, addr="127.0.0.1:0") as fake:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", fake.url)
        assert fake.env["OPENAI_API_KEY"] == "my-key"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            agents.run(fake.base_urls["openai"])
        with pytest.raises(LooptapeError, match="any-key|API key"):
            fake.close()
    with pytest.raises(LooptapeError, match="max-requests"):
        with serve(weather, max_requests=1) as fake, pytest.raises(OSError):
            agents.run(fake.base_urls["openai"])
    with pytest.raises(LooptapeError, match="--quirk") as caught:
        serve(weather, quirk="QX-99")
    assert caught.value.status == 2


@pytest.mark.parametrize("start, others", [(serve, {"format", "until-eof", "help", "report", "expect-status"}), (replay, {"format", "until-eof", "help"}), (record, {"format", "until-eof", "help", "output"})])
def test_flags_of_the_command(start, others):
    """Each flag of the command is an argument, except those that the module sets or that a program needs."""
    text = subprocess.run([looptape.binary(), start.__name__, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    flags = set(re.findall(r"^ +(?:-\w, )?--([\w-]+)", text.partition("\nFlags:\n")[2], re.M))
    arguments = {p.name.replace("_", "-") for p in inspect.signature(start).parameters.values() if p.kind == p.KEYWORD_ONLY}
    assert arguments == flags - others


def test_record_and_replay(weather, tmp_path, monkeypatch):
    tape = tmp_path / "Aufnahme 1.tape"
    with serve(weather) as fake:
        with record(tape, upstream={"openai": fake.base_urls["openai"]}) as proxy:
            assert "OPENAI_API_KEY" not in proxy.env
            agents.run(proxy.env["OPENAI_BASE_URL"])
    assert proxy.report["ok"]
    used = tmp_path / "used.json"
    with replay(tape, report=used) as recorded:
        assert agents.run(recorded.base_urls["openai"]) == "It rains in both."
    assert recorded.report["ok"]
    assert used.exists()
    with pytest.raises(LooptapeError) as caught:
        with replay(tape) as recorded:
            agents.run(recorded.base_urls["openai"], prompt="Does it rain?")
    assert 'recorded "How is the weather in Bern and in Rome?"' in str(caught.value)
    assert 'now      "Does it rain?"' in str(caught.value)
    with pytest.raises(LooptapeError, match="is a recording: serve it with replay, or with the fixture looptape_replay"):
        serve(tape)
    with pytest.raises(LooptapeError, match="not used"):
        with replay(tape):
            pass
    with replay(tape, allow_unused=True, delay_factor=0.5):
        pass
    with pytest.raises(LooptapeError, match="no such file|cannot find"):
        replay(tmp_path / "missing.tape")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LooptapeError, match="The current folder is " + re.escape(os.getcwd())):
        replay("missing.tape")


def test_path_that_begins_with_a_dash(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("-w.yaml").write_text(agents.WEATHER, encoding="utf-8")
    with serve("-w.yaml") as fake:
        agents.run(fake.base_urls["openai"])
    with pytest.raises(LooptapeError, match=r"\./-"):
        assert_check("-")  # not the standard input


def test_check(tmp_path):
    call = {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "w", "arguments": "{}"}}]}
    good, bad = tmp_path / "good run.json", tmp_path / "bad.json"
    good.write_text(json.dumps([{"role": "user", "content": "x"}, call, {"role": "tool", "tool_call_id": "a", "content": "r"}, {"role": "assistant", "content": "y"}]))
    bad.write_text(json.dumps([{"role": "user", "content": "x"}, call, {"role": "user", "content": "y"}]))
    assert check(good)["violations"] == []
    assert check(good)["ok"]
    assert_check(str(good))
    report = check([good, bad])
    assert (report["runs"], report["counts"], report["ok"]) == (2, {"INV-01": 1}, False)
    for paths in [[good, bad], iter([good, bad])]:
        with pytest.raises(LooptapeError) as caught:
            assert_check(paths)
        assert caught.value.report == report
        assert "LIKELY CAUSE" in str(caught.value)
    missing = check(tmp_path / "missing.json")
    assert missing["unreadable"][0]["file"].endswith("missing.json")
    assert not missing["ok"]
    with pytest.raises(LooptapeError, match="missing.json"):
        assert_check(tmp_path / "missing.json", strict=True)
    with pytest.raises(LooptapeError, match="exit status 2"):
        check([])


def test_threads(weather):
    """Servers of many threads do not share anything, and one close of many reports."""

    def one(omit):
        try:
            with serve(weather) as fake:
                agents.run(fake.base_urls["openai"], omit=omit)
        except LooptapeError:
            return "INV-01"
        return fake.report["requests"]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, [0, 1] * 8)) == [2, "INV-01"] * 8
        fake = serve(weather)
        closes = [pool.submit(fake.close) for _ in range(8)]
        assert sum(isinstance(c.exception(), LooptapeError) for c in closes) == 1


def test_async(weather):
    async def main():
        with serve(weather) as fake:
            loop = asyncio.get_running_loop()
            return await asyncio.gather(*(loop.run_in_executor(None, agents.run, fake.base_urls["openai"]) for _ in range(1)))

    assert asyncio.run(main()) == ["It rains in both."]


def in_child(fake, queue):
    """Run an agent in a forked process, which cannot close the server."""
    answer = agents.run(fake.base_urls["openai"])
    queue.put((answer, fake.close()))


@posix
def test_multiprocessing(weather):
    context = multiprocessing.get_context("fork")
    with serve(weather) as fake:
        queue = context.SimpleQueue()
        child = context.Process(target=in_child, args=(fake, queue))
        child.start()
        assert queue.get() == ("It rains in both.", None)
        child.join()
    assert fake.report["requests"] == 2


@posix
def test_fork_does_not_keep_the_server(weather):
    """A forked process that lives longer has no pipe to a server, also not to one that was just starting."""
    children, stop = [], threading.Event()
    held, hold = os.pipe()

    def fork():
        while not stop.is_set():
            pid = os.fork()
            if pid == 0:
                os.close(hold)
                os.read(held, 1)  # until the parent closes the pipe
                os._exit(0)
            children.append(pid)
            time.sleep(0.005)

    thread = threading.Thread(target=fork)
    thread.start()
    try:
        for _ in range(5):
            begin = time.monotonic()
            with serve(weather) as fake:
                agents.run(fake.base_urls["openai"])
            assert time.monotonic() - begin < fake._limit / 2
    finally:
        stop.set()
        thread.join()
        os.close(hold)
        os.close(held)
        for pid in children:
            os.waitpid(pid, 0)
    assert len(children) > 5


@posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_server_ends_with_the_process(weather, number):
    program = "import agents, looptape, sys; fake = looptape.serve(sys.argv[1]); print(fake.url, flush=True); agents.wait()"
    process = subprocess.Popen([sys.executable, "-c", program, str(weather)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    url = urllib.parse.urlsplit(process.stdout.readline().decode())
    with socket.create_connection((url.hostname, url.port)) as connection:
        connection.settimeout(8)  # less than the 10 s after which the server itself closes it
        process.send_signal(number)
        try:
            assert connection.recv(1) == b""
        except ConnectionResetError:
            pass
    process.communicate()


@posix
def test_ctrl_c_reaches_only_the_process(weather):
    """Ctrl-C in a terminal is for all processes of its group."""
    program = """if True:
        import agents, looptape, sys
        with looptape.serve(sys.argv[1]) as fake:
            try:
                print(fake.url, flush=True)
                agents.wait()
            except KeyboardInterrupt:
                print(agents.run(fake.base_urls["openai"]), flush=True)"""
    process = subprocess.Popen([sys.executable, "-c", program, str(weather)], stdout=subprocess.PIPE, start_new_session=True, env=ENV)
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate()[0] == b"It rains in both.\n"
    assert process.returncode == 0


@pytest.mark.parametrize(
    "lines, status, output",
    [
        ("fake = looptape.serve(file)", 120, ["not close a server", "No request came"]),
        ("looptape.serve(file)", 120, ["not close a server", "No request came"]),
        ("fake = looptape.serve(file); agents.run(fake.base_urls['openai'], omit=1)", 1, ["HTTP Error 400", "INV-01     pairing"]),
        ("fake = looptape.serve(file); agents.run(fake.base_urls['openai'])", 0, []),
        ("fake = looptape.serve(file); fake.cycle = fake; del fake; gc.collect()", 120, ["not close a server", "No request came"]),
        ("fake = looptape.serve(file); atexit.register(agents.run, fake.base_urls['openai'])", 0, []),
        ("a = looptape.serve(file); b = looptape.serve(file, model='gpt-5')", 120, ["yaml': exit status 1", "--model=gpt-5: exit status 1"]),
        ("fake = looptape.serve(file); threading.Thread(target=agents.wait, daemon=True).start()", 120, ["No request came"]),
        ("fake = looptape.serve(file); threading.Thread(target=agents.run, args=[fake.base_urls['openai']]).start()", 0, []),
        ("with looptape.serve(file, allow_unused=True) as fake: agents.run(fake.base_urls['openai'])", 0, []),
    ],
)
def test_server_that_is_not_closed(weather, lines, status, output):
    """The process fails, after all other exit handlers, and writes its files."""
    program = """if True:
        import atexit, sys
        sys.stdout.write("with other exit handlers")
        atexit.register(lambda: print(", also the first"))
        import agents, gc, looptape, threading
        file = sys.argv[1]
        """ + lines
    done = subprocess.run([sys.executable, "-c", program, str(weather)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    text = done.stderr.decode()
    assert (done.returncode, done.stdout.split()) == (status, b"with other exit handlers, also the first".split()), text
    assert bool(text) == bool(output)
    assert [text.count(part) for part in output] == [1] * len(output), text


@posix
def test_forked_process_does_not_close_the_server(weather):
    program = """if True:
        import agents, gc, looptape, os, sys
        fake = looptape.serve(sys.argv[1])
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
            agents.run(fake.base_urls["openai"])
        else:
            del fake
            gc.collect()"""
    done = subprocess.run([sys.executable, "-W", "error::ResourceWarning", "-c", program, str(weather)], stderr=subprocess.PIPE, env=ENV)
    assert (done.returncode, done.stderr.decode().count("did not close")) == (0, 1), done.stderr  # the warning of the parent


@posix
def test_forked_process_does_not_keep_a_server_that_is_not_closed(weather):
    program = """if True:
        import agents, gc, looptape, os, sys
        looptape.Server._limit = 8
        fake = looptape.serve(sys.argv[1])
        agents.run(fake.base_urls["openai"])
        fake.cycle = fake
        del fake
        gc.collect()
        held, hold = os.pipe()
        if os.fork() == 0:
            os.close(hold)
            os.read(held, 1)  # until the parent has ended
            os._exit(0)"""
    done = subprocess.run([sys.executable, "-c", program, str(weather)], stderr=subprocess.PIPE, env=ENV)
    assert (done.returncode, done.stderr) == (0, b"")


def test_resource_warning(weather):
    fake = serve(weather, allow_unused=True)
    agents.run(fake.base_urls["openai"])
    with pytest.warns(ResourceWarning, match="did not close a server: use with, or call close: looptape serve '.*yaml' --allow-unused"):
        del fake
        gc.collect()
    assert looptape._close(looptape._lost) is None


@pytest.mark.parametrize("no_proxy", [None, "example.com", "*", "localhost,127.0.0.1"])
@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
def test_proxy(weather, monkeypatch, name, no_proxy):
    for key in ["http_proxy", "all_proxy", "no_proxy"]:
        monkeypatch.delenv(key, raising=False)
        monkeypatch.delenv(key.upper(), raising=False)
    monkeypatch.setenv(name, "http://user:password@127.0.0.1:9")
    if no_proxy:
        monkeypatch.setenv("NO_PROXY", no_proxy)
    with pytest.raises(LooptapeError) as caught:
        serve(weather).close()
    assert ("NO_PROXY does not exclude 127.0.0.1" in str(caught.value)) == (no_proxy in (None, "example.com"))
    assert "password" not in str(caught.value)
    with pytest.raises(LooptapeError) as caught, serve(weather) as fake:
        with mock.patch.dict(os.environ, fake.env):
            agents.run(omit=1)
    assert "NO_PROXY" not in str(caught.value)


def reject(url, times):
    """Send requests without the results of 20 calls. The server lists their ids each time."""
    for i in range(times):
        calls = [{"id": f"call_{i}_{j}", "type": "function", "function": {"name": "weather", "arguments": "{}"}} for j in range(20)]
        with pytest.raises(OSError):
            agents.post_urllib(url + "/chat/completions", {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": calls}, {"role": "user", "content": "go"}]})


@pytest.mark.parametrize("limit", [None, 200])
def test_large_report(weather, limit):
    """The report and the text are larger than a pipe, also if the command ends by itself."""
    fake = serve(weather, max_requests=limit)
    reject(fake.base_urls["openai"], limit or 200)
    with pytest.raises(LooptapeError) as caught:
        fake.close()
    assert len(json.dumps(caught.value.report)) > 1 << 16
    assert len(caught.value.report["rejected_requests"]) == 200


def stub(tmp_path, monkeypatch, text):
    path = tmp_path / "stub"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    monkeypatch.setenv("LOOPTAPE_BINARY", str(path))
    return path


@posix
def test_other_binary(weather, tmp_path, monkeypatch):
    path = stub(tmp_path, monkeypatch, "echo hello; cat >/dev/null")
    with pytest.raises(LooptapeError, match="unexpected output instead of the address: b'hello"):
        serve(weather)
    path.write_text("#!/bin/sh\necho '{}'\n")
    with pytest.raises(LooptapeError, match="unexpected output instead of the address"):
        serve(weather)
    path.write_text("#!/bin/sh\nkill -9 $$\n")
    with pytest.raises(LooptapeError, match="ended by signal 9"):
        serve(weather)
    path.write_text("neither a script nor a program")
    with pytest.raises(LooptapeError, match="stub"):
        serve(weather)
    with pytest.raises(LooptapeError, match="stub"):
        check(weather)
    path.chmod(0o644)
    with pytest.raises(LooptapeError, match="stub: command not found: install"):
        serve(weather)


def test_no_resource_is_left(weather):
    """With errors for warnings, neither files nor processes are left."""
    program = """if True:
        import gc, looptape, os, sys
        for options in [{}, {"quirk": "QX-99"}, {"key": "k"}]:
            if "key" in options:
                os.chmod(sys.argv[1], 0o700)
                os.environ["LOOPTAPE_BINARY"] = sys.argv[1]
            try:
                looptape.serve(sys.argv[1], **options).close()
            except looptape.LooptapeError as error:
                print(error)
        gc.collect()"""
    done = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", program, str(weather)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert b"No request came" in done.stdout
    assert (done.returncode, done.stderr) == (0, b"")


@posix
def test_binary_that_hangs(weather, tmp_path, monkeypatch):
    monkeypatch.setattr(looptape.Server, "_limit", 0.2)
    stub(tmp_path, monkeypatch, "exec tail -f /dev/null")
    with pytest.raises(LooptapeError, match="ended by signal 9"):
        serve(weather)
    stub(tmp_path, monkeypatch, """echo '{"url": "", "base_urls": {}, "env": {}}'; exec tail -f /dev/null""")
    with pytest.raises(LooptapeError, match="ended by signal 9"):
        serve(weather).close()


def test_module_in_a_zip(tmp_path, monkeypatch):
    """A binary in a zip cannot run."""
    monkeypatch.delenv("LOOPTAPE_BINARY", raising=False)
    archive = tmp_path / "looptape.zip"
    with zipfile.ZipFile(archive, "w") as z:
        z.write(looptape.__file__, "looptape/__init__.py")
    done = subprocess.run([sys.executable, "-c", "import looptape; looptape.serve('x.yaml')"], env={**os.environ, "PYTHONPATH": str(archive)}, stderr=subprocess.PIPE)
    assert b"command not found: install the wheel of looptape" in done.stderr


@pytest.mark.parametrize("command", [[sys.executable, "-m", "looptape"], [str(Path(sys.executable).with_name("looptape"))]])
def test_command(command, weather, tmp_path):
    def run(*arguments, **options):
        return subprocess.run([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    done = run("serve", str(weather), "--", sys.executable, "-c", "import sys; print(sys.argv)", "a b", "ü")
    assert done.returncode == 1
    assert "['-c', 'a b', 'ü']".encode() in done.stdout
    assert run("demo").returncode == 0
    assert run("no-such-command").returncode == 2
    done = run("demo", env={**os.environ, "LOOPTAPE_BINARY": str(tmp_path / "missing")})
    assert done.returncode == 2
    assert done.stderr.decode().startswith("looptape: ")
