#!/usr/bin/env python3
"""A hook: blocks calls that mention the file diary.txt, and says why."""
import json
import sys

call = json.load(sys.stdin)
if "diary.txt" in json.dumps(call["arguments"]):
    json.dump({"block": True, "reason": "The diary is private."}, sys.stdout)
else:
    json.dump({}, sys.stdout)
