#!/usr/bin/env python3
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from echolib.cli.run import leave
from echolib.cli.topic_segmenter import main

leave(main(sys.argv[1:]))
