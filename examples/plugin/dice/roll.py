#!/usr/bin/env python3
"""Reads one JSON document on stdin and writes one on stdout."""
import json
import random
import sys

call = json.load(sys.stdin)
count, sides = map(int, call["arguments"]["dice"].split("d"))
shown = [random.randint(1, sides) for _ in range(count)]
json.dump({"text": f"{' '.join(map(str, shown))}, {sum(shown)} in all", "details": {"shown": shown}}, sys.stdout)
