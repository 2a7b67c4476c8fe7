#!/usr/bin/env python3
"""Draw the plugin's icon: a magnifier over a stack of chat bubbles, on layers of earth.

    python3 tests/tools/draw_icon.py .claude-plugin/icon.png

Shapes are polygons in a square of 512 units, filled line by line with exact coverage at their edges.
"""
import math
import struct
import sys
import zlib
from functools import lru_cache
from itertools import accumulate, groupby

SIZE = 512
LINES = 8       # sampling lines in one row of pixels
STEPS = 32      # horizontal positions told apart in one pixel; LINES * STEPS is full coverage
FULL = LINES * STEPS

SKY = ((74, 92, 214), (38, 44, 128))
STRATA = [(318, 12, 0.4, (34, 38, 112)), (382, 10, 2.3, (27, 30, 92)), (440, 8, 4.4, (20, 22, 72))]
BACK, MIDDLE, FRONT = (112, 128, 232), (172, 184, 250), ((255, 255, 255), (236, 239, 253))
INK, FAINT, MARK = (118, 128, 186), (196, 203, 236), (255, 196, 61)
RING, HANDLE, NECK = ((255, 190, 62), (240, 140, 28)), ((224, 229, 250), (158, 168, 220)), (240, 140, 28)
GLASS = ((250, 252, 255), (222, 230, 255))
SHADOW = (10, 12, 48)


class Canvas:
    """An RGBA picture as four planes of bytes, black and transparent at first."""

    def __init__(self, size):
        self.size = size
        self.planes = [bytearray(size * size) for _ in 'rgba']

    def fill(self, contours, colour, alpha=1.0):
        """Fill closed contours (even-odd) with a colour, or a pair of colours from their top to their bottom."""
        rows = [y * self.size / SIZE for contour in contours for _, y in contour]
        top, bottom = min(rows), max(rows)
        plain = None if isinstance(colour[0], tuple) else colour
        for row, at, levels in coverage(contours, self.size):
            shade = plain or mix(colour[0], colour[1], (row + 0.5 - top) / (bottom - top))
            for level, run in groupby(levels):
                end = at + len(list(run))
                if level > 0:
                    self.blend(at, end, shade, alpha * min(level, FULL) / FULL)
                at = end

    def blend(self, at, end, colour, part):
        """Mix a colour into the pixels from `at` to `end`; long runs by a table, which is faster."""
        for plane, value in zip(self.planes, colour):
            if part >= 1:
                plane[at:end] = bytes([int(value + 0.5)]) * (end - at)
            elif end - at < 64:
                plane[at:end] = bytes([int(old + (value - old) * part + 0.5) for old in plane[at:end]])
            else:
                plane[at:end] = plane[at:end].translate(table(value, part))

    def clip(self, contours):
        """Make opaque what lies inside the contours, by its coverage."""
        alpha = self.planes[3]
        for _, at, levels in coverage(contours, self.size):
            alpha[at:at + len(levels)] = bytes(min(255, level * 255 // FULL) for level in levels)

    def png(self):
        """Return the picture as the bytes of a PNG file."""
        pixels = bytearray(4 * self.size * self.size)
        for channel, plane in enumerate(self.planes):
            pixels[channel::4] = plane
        width = 4 * self.size
        raw = b''.join(b'\0' + bytes(pixels[at:at + width]) for at in range(0, len(pixels), width))
        header = struct.pack('>IIBBBBB', self.size, self.size, 8, 6, 0, 0, 0)
        return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header)
                + chunk(b'IDAT', zlib.compress(raw, 9)) + chunk(b'IEND', b''))


def chunk(kind, data):
    """Return one PNG chunk."""
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data) & 0xffffffff)


@lru_cache(maxsize=None)
def table(value, part):
    """Return, for every byte, what it becomes when a value is mixed in."""
    return bytes([int(old + (value - old) * part + 0.5) for old in range(256)])


def coverage(contours, size):
    """Yield (row, place of the first pixel in a plane, [coverage of each pixel, 0 to FULL]) for the rows touched."""
    scale = size / SIZE
    rows = [[] for _ in range(size)]
    for contour in contours:
        points = [(x * scale, y * scale) for x, y in contour]
        for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1]):
            edge = (y0, y1, x0, x1) if y0 < y1 else (y1, y0, x1, x0)
            if y0 != y1:
                for row in range(max(0, int(edge[0])), min(size, int(edge[1]) + 1)):
                    rows[row].append(edge)
    for row, near in enumerate(rows):
        if not near:
            continue
        left = min(max(0, int(min(edge[2:])) - 1) for edge in near)
        right = max(min(size, int(max(edge[2:])) + 2) for edge in near)
        changes = [0] * (size + 2)
        for line in range(LINES):
            y = row + (line + 0.5) / LINES
            crossings = sorted(x0 + (y - y0) * (x1 - x0) / (y1 - y0) for y0, y1, x0, x1 in near if y0 <= y < y1)
            for index, x in enumerate(crossings):
                pixel, part = divmod(int(min(max(x, 0), size) * STEPS + 0.5), STEPS)
                sign = -1 if index % 2 else 1
                changes[pixel] += sign * (STEPS - part)
                changes[pixel + 1] += sign * part
        yield row, row * size + left, list(accumulate(changes[left:right]))


def mix(one, other, part):
    """Return the colour that lies the given part of the way between two."""
    part = min(max(part, 0.0), 1.0)
    return tuple(a + (b - a) * part for a, b in zip(one, other))


def arc(x, y, radius, start, end, steps):
    """Return points on a circle, angles in degrees, clockwise from the right."""
    angles = [math.radians(start + (end - start) * step / steps) for step in range(steps + 1)]
    return [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]


def disc(x, y, radius):
    return arc(x, y, radius, 0, 360, 180)


def box(left, top, right, bottom, radius):
    """Return a rectangle with round corners."""
    return (arc(right - radius, top + radius, radius, -90, 0, 24)
            + arc(right - radius, bottom - radius, radius, 0, 90, 24)
            + arc(left + radius, bottom - radius, radius, 90, 180, 24)
            + arc(left + radius, top + radius, radius, 180, 270, 24))


def tail(x, y, width, drop):
    """Return the tail of a bubble: from `width` on a line at y to a round tip `drop` below."""
    return [(x, y - 30), (x + width, y - 30), (x + width, y)] + arc(x + 2, y + drop, 7, 50, 190, 12)


def bar(x0, y0, x1, y1, width):
    """Return a line with round ends."""
    angle = math.degrees(math.atan2(y1 - y0, x1 - x0))
    return arc(x1, y1, width / 2, angle - 90, angle + 90, 24) + arc(x0, y0, width / 2, angle + 90, angle + 270, 24)


def moved(contour, dx, dy):
    return [(x + dx, y + dy) for x, y in contour]


def soft(canvas, shape, spread, dy, alpha):
    """Draw a soft shadow: the same shape, larger and fainter each time."""
    steps = 8
    for step in range(steps):
        canvas.fill([moved(shape(spread * (step + 1) / steps), 0, dy)], SHADOW, alpha / steps)


def draw(size=SIZE):
    """Return the icon as a Canvas."""
    canvas = Canvas(size)
    canvas.fill([[(0, 0), (SIZE, 0), (SIZE, SIZE), (0, SIZE)]], SKY)
    for level, height, phase, colour in STRATA:
        wave = [(x, level + height * math.sin(phase + x / 82.0)) for x in range(0, SIZE + 8, 8)]
        canvas.fill([wave + [(SIZE + 8, SIZE), (0, SIZE)]], colour)

    canvas.fill([box(144, 58, 430, 200, 34)], BACK)
    soft(canvas, lambda by: box(102 - by, 90 - by, 402 + by, 250 + by, 37 + by), 10, 5, 0.30)
    canvas.fill([box(102, 90, 402, 250, 37)], MIDDLE)
    soft(canvas, lambda by: box(60 - by, 124 - by, 374 + by, 320 + by, 40 + by), 14, 8, 0.40)
    canvas.fill([tail(92, 320, 64, 38)], FRONT[1])
    canvas.fill([box(60, 124, 374, 320, 40)], FRONT)
    for y, right, colour in ((172, 316, INK), (212, 262, FAINT), (248, 204, FAINT), (284, 176, FAINT)):
        canvas.fill([bar(102, y, right, y, 16)], colour)

    x, y, outer, inner = 296, 284, 104, 79
    slope = math.sqrt(0.5)

    def handle(start, end, width):
        return bar(x + start * slope, y + start * slope, x + end * slope, y + end * slope, width)

    soft(canvas, lambda by: disc(x, y, outer + by), 16, 10, 0.45)
    soft(canvas, lambda by: handle(150, 224, 48 + 2 * by), 12, 10, 0.40)
    canvas.fill([handle(90, 132, 28)], NECK)
    canvas.fill([handle(144, 224, 48)], HANDLE)
    canvas.fill([disc(x, y, inner + 4)], GLASS)
    canvas.fill([bar(x - 38, y - 22, x + 38, y - 22, 20)], FAINT)
    canvas.fill([bar(x - 33, y + 18, x + 16, y + 18, 30)], MARK)
    canvas.fill([disc(x, y, outer), disc(x, y, inner)], RING)
    canvas.clip([box(0, 0, SIZE, SIZE, 112)])
    return canvas


def main(argv):
    if len(argv) != 1:
        sys.stderr.write(__doc__)
        return 2
    with open(argv[0], 'wb') as out:
        out.write(draw().png())
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
