#!/usr/bin/env python3
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from echolib.cli.chat_profiles import main
from echolib.cli.run import leave

leave(main(sys.argv[1:]))
