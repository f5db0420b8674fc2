#!/usr/bin/env python3
"""How soon the page of `mastermind serve` answers, in Chromium, and what it costs a run that it watches.

Usage: benches/page/run.py RELEASE [--records N]
  RELEASE  the folder of the built program
  N        records of the large run, 100,000,000 by default: 4 GB in the folder for temporary files (TMPDIR)
Needs cc, gzip, chromium and chromedriver. Ends with 1 where a row is missed.
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A library of two functions, and a program that calls them alternately.
LIBRARY = """
double even(int n) { double s = 0; for (int i = 0; i < n; i++) s += i; return s; }
double odd(int n) { double s = 1; for (int i = 0; i < n; i++) s *= 1.5; return s; }
"""
HEADER = "double even(int n);\ndouble odd(int n);\n"
PROGRAM = """
#include <stdlib.h>
#include "calls.h"
int main(int n, char **words) {
    long calls = atol(words[1]);
    int work = atoi(words[2]);
    volatile double sum = 0;
    for (long i = 0; i < calls; i++) sum += i / 100000 % 2 ? odd(work) : even(work);
    return n == 9;
}
"""
RANKS = 10
INSTANCES = 500
NODES = 2000
# Calls of the run that is watched, and steps of work in each: some 100 s.
WATCHED = 100_000_000, 600
# Of the windows that are asked for, each half as long as the one before.
ZOOMS = 18


class Server:
    """`mastermind serve`, asked as its page asks."""

    def __init__(self, mastermind, folder):
        words = [mastermind, "serve", folder, "--read-only"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = next(found.group(0) for line in self.process.stdout if (found := re.search(r"http://\S+", line)))
        self.address, token = self.url.split("/#token=")
        self.headers = {"x-mastermind-token": token, "content-type": "application/json"}

    def ask(self, **question):
        """The answer, and the seconds that it took."""
        begin = time.perf_counter()
        request = urllib.request.Request(f"{self.address}/api/ask", json.dumps(question).encode(), self.headers)
        answer = json.load(urllib.request.urlopen(request))
        return answer["answer"], time.perf_counter() - begin

    def end(self):
        self.process.terminate()
        self.process.wait()


class Browser:
    """Chromium, by the WebDriver protocol."""

    def __init__(self):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        started = next(found for line in self.driver.stdout if (found := re.search(r"successfully on port (\d+)", line)))
        self.at = f"http://127.0.0.1:{started.group(1)}/session"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1400,1000"], "binary": "/usr/bin/chromium"}
        session = self.post("", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})
        self.at += "/" + session["sessionId"]
        self.post("/timeouts", {"script": 120_000})

    def post(self, path, body):
        request = urllib.request.Request(self.at + path, json.dumps(body).encode(), {"content-type": "application/json"})
        return json.load(urllib.request.urlopen(request))["value"]

    def open(self, url):
        self.post("/url", {"url": url})
        self.until("document.querySelector('nav h2') !== null")

    def until(self, condition, act=""):
        """Seconds from an act to a condition, which is looked at before each picture."""
        script = f"""
            const done = arguments[0];
            const begin = performance.now();
            {act};
            const look = () => (({condition}) ? done(performance.now() - begin) : requestAnimationFrame(look));
            requestAnimationFrame(look);"""
        return self.post("/execute/async", {"script": script, "args": []}) / 1000

    def show(self, file, condition):
        shown = f"document.querySelector('main h2')?.textContent === '{file}' && ({condition})"
        return self.until(shown, f"location.hash = encodeURIComponent('{file}')")

    def end(self):
        try:
            urllib.request.urlopen(urllib.request.Request(self.at, method="DELETE"))
        finally:
            self.driver.kill()


def record(mastermind, work, n_records):
    """Calls of a proxied library by RANKS processes in one folder of records."""
    (work / "calls.c").write_text(LIBRARY)
    (work / "calls.h").write_text(HEADER)
    (work / "main.c").write_text(PROGRAM)

    def run(*words):
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = [str(word) for word in words]
        subprocess.run(words, cwd=work, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    run("cc", "-O1", "-shared", "-fPIC", "-o", "libcalls.so", "calls.c")
    run("cc", "-O1", "-o", "main", "main.c", "-L.", "-lcalls", f"-Wl,-rpath,{work}")
    run(mastermind, "proxy", "calls.h", "-o", ".")
    wrap = [mastermind, "wrap", "--proxy", "libcalls_proxy.so", "--records", work / "page/large", "--"]
    run("mpirun.openmpi", "--oversubscribe", "-n", RANKS, *wrap, "./main", n_records // RANKS, 4)


def chain():
    """An assembly of many instances in a chain of connections, of classes that need not be there to be drawn."""
    lines = ["[assembly]", 'name = "chain"', "", "[instances]"]
    lines += [f'i{n} = "made.Link"' for n in range(INSTANCES)]
    lines += ["", "[connections]"]
    lines += [f'"i{n}.next" = "i{n + 1}.link"' for n in range(INSTANCES - 1)]
    return "\n".join(lines) + "\n"


def steps():
    """A program of many actions, each tenth of them in a branch."""
    actions = [f'{{ action = "step {n}", cost = "us({n % 7 + 1})" }}' for n in range(NODES)]
    flow = ",\n    ".join(actions)
    return f'[model]\nname = "steps"\nmain = "Main"\n\n[activities.Main]\nflow = [\n    {flow},\n]\n'


def cpu_of(process):
    """CPU seconds of a process and its ended children."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--records", type=int, default=100_000_000)
    options = parser.parse_args()
    mastermind = options.release.resolve() / "mastermind"
    missed = 0

    def row(what, value, bar, unit):
        nonlocal missed
        missed += value > bar
        print(f"{what:58} {value:9.3f} {unit} ({bar} asked): {'reached' if value <= bar else 'MISSED'}", flush=True)

    assets = sum(len(subprocess.run(["gzip", "-c", file], capture_output=True, check=True).stdout) for file in (ROOT / "mastermind/serve/assets").iterdir())
    row("assets, compressed", assets / 1000, 150, "kB")
    work = Path(tempfile.mkdtemp())
    page = work / "page"
    page.mkdir()
    try:
        if shutil.disk_usage(work).free < 50 * options.records:
            sys.exit(f"cannot record {options.records} calls: {work} has too little room, expected {50 * options.records / 1e9:.1f} GB")
        record(mastermind, work, options.records)
        (page / "chain.toml").write_text(chain())
        (page / "steps.toml").write_text(steps())
        timeline = [mastermind, "plot", page / "large", "--kind", "timeline", "--json"]
        subprocess.run(timeline, check=True, stdout=subprocess.DEVNULL)
        megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
        row(f"memory of the overview of {options.records:,} records", megabytes, 500, "MB")
        server = Server(mastermind, page)
        whole, _ = server.ask(ask="calls", records="large", size="1000x750")
        random.seed(1)
        seconds = []
        for zoom in range(ZOOMS):
            width = whole["span_ns"] * 1e-9 / 2**zoom
            begin = random.random() * (whole["span_ns"] * 1e-9 - width)
            part, taken = server.ask(ask="calls", records="large", size="1000x750", **{"from": f"{begin:.9f}", "to": f"{begin + width:.9f}"})
            seconds.append(taken)
        is_single = "slices" in part["rows"][0]
        row("any part of its timeline, the slowest of 18", max(seconds), 0.1, "s")
        row("the shortest of them shows single calls (0: it does)", not is_single, 0, " ")
        browser = Browser()
        browser.open(server.url)
        row("first picture of that run", browser.show("large", "document.querySelector('main table tbody tr') !== null"), 0.3, "s")
        row(f"wiring of {INSTANCES} instances", browser.show("chain.toml", f"document.querySelectorAll('[data-instance]').length === {INSTANCES}"), 0.2, "s")
        row(f"program of {NODES} actions", browser.show("steps.toml", f"document.querySelectorAll('main svg text').length >= {NODES}"), 1, "s")
        # Watched from its beginning to its end.
        calls, steps_of_call = WATCHED
        before = cpu_of(server.process)
        words = [mastermind, "wrap", "--proxy", "libcalls_proxy.so", "--records", page / "live", "--records-limit", "1G", "--", "./main", str(calls), str(steps_of_call)]
        run = subprocess.Popen(words, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (page / "live").is_dir():
            time.sleep(0.05)
        browser.until("[...document.querySelectorAll('nav a')].some((one) => one.textContent === 'live')")
        browser.show("live", "document.querySelector('main table tbody tr') !== null")
        used = os.wait4(run.pid, 0)[2]
        watching = cpu_of(server.process) - before
        of_run = used.ru_utime + used.ru_stime
        row(f"CPU of the server while a run of {of_run:.0f} s is watched", 100 * watching / of_run, 1, "%")
        browser.end()
        server.end()
    finally:
        shutil.rmtree(work)
    print(f"{missed} missed")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
