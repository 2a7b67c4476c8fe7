"""The look of the report page: one style sheet, named by its hash in the page's policy."""

_LIGHT = '''--back: #f7f6f3; --card: #fff; --text: #1f2328; --dim: #5f6771; --line: #e1ddd6; --grid: #ece9e3; --track: #efece6; --link: #0b5cad;
  --warn: #8a4b00; --warn-back: #fff4e2; --note-back: #eef4fb; --bad: #b3261e;
  --s0: #3b6fb6; --s1: #d9822b; --s2: #3f9a6b; --s3: #a35db5; --s4: #c9a227; --s5: #4aa5b8; --s6: #9a9fa6;
  --l0: #ebe8e2; --l1: #c5dbef; --l2: #8bb8de; --l3: #4d8cc6; --l4: #1f5c9c;'''
_DARK = '''--back: #14171a; --card: #1c2024; --text: #e6e8ea; --dim: #9da5ad; --line: #343a40; --grid: #2a2f35; --track: #2a2f35; --link: #86bbf3;
  --warn: #f0b866; --warn-back: #33281a; --note-back: #1b2733; --bad: #ff9c94;
  --s0: #6ea3e6; --s1: #f0a35e; --s2: #66c294; --s3: #c58ad6; --s4: #e0c04f; --s5: #74c6d8; --s6: #80868d;
  --l0: #262b30; --l1: #1f3f5f; --l2: #2c649c; --l3: #4f94d4; --l4: #9ccbf7;'''

STYLE = '''
:root { color-scheme: light dark; %s }
@media screen and (prefers-color-scheme: dark) { :root { %s } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%%; text-size-adjust: 100%%; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; overflow-wrap: anywhere; }
header, main, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.75rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 0 0 .15rem; }
p { margin: .25rem 0; } .dim { color: var(--dim); font-size: .88rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .6rem; margin: 1rem 0; padding: 0; list-style: none; }
.tiles li { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
.tiles b { display: block; font-size: 1.3rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--dim); font-size: .82rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1rem 1rem; margin: 0 0 .9rem; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 .9rem; } .pair section { min-width: 0; }
.scroll { overflow-x: auto; margin: .5rem 0 .25rem; direction: rtl; } .scroll > * { direction: ltr; }
svg.chart, svg.short { display: block; font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
svg.chart { width: 100%%; height: auto; } svg.short { margin-right: auto; font-size: 11px; }
svg.wide { min-width: 44rem; } svg.half { min-width: 20rem; } svg.calendar { min-width: 46rem; }
svg text { fill: var(--text); } svg .axis { fill: var(--dim); } svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .stroke { fill: none; stroke: var(--s0); stroke-width: 2; }
.s0 { fill: var(--s0); background: var(--s0); } .s1 { fill: var(--s1); background: var(--s1); } .s2 { fill: var(--s2); background: var(--s2); }
.s3 { fill: var(--s3); background: var(--s3); } .s4 { fill: var(--s4); background: var(--s4); } .s5 { fill: var(--s5); background: var(--s5); }
.s6 { fill: var(--s6); background: var(--s6); } .bad { fill: var(--bad); color: var(--bad); }
.l0 { fill: var(--l0); background: var(--l0); } .l1 { fill: var(--l1); background: var(--l1); } .l2 { fill: var(--l2); background: var(--l2); }
.l3 { fill: var(--l3); background: var(--l3); } .l4 { fill: var(--l4); background: var(--l4); }
.track { fill: var(--track); } svg.bar { display: block; width: 100%%; min-width: 3rem; height: .6rem; border-radius: .2rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .35rem 0 0; padding: 0; list-style: none; font-size: .85rem; color: var(--dim); }
.legend i { display: inline-block; width: .75rem; height: .75rem; border-radius: .15rem; margin-right: .35rem; vertical-align: -1px; }
.hold { overflow-x: auto; }
table { border-collapse: collapse; width: 100%%; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .5rem; border-top: 1px solid var(--line); white-space: nowrap; }
thead th { color: var(--dim); font-weight: 500; border-top: 0; } tbody th { font-weight: 400; } th.name { text-align: left; white-space: normal; min-width: 8rem; }
td.fill { width: 24%%; }
details { margin-top: .5rem; } summary { cursor: pointer; color: var(--link); font-size: .87rem; }
details .hold { max-height: 24rem; overflow: auto; margin-top: .4rem; }
ol.findings { list-style: none; margin: .5rem 0 0; padding: 0; }
ol.findings li { border-left: 3px solid var(--s0); background: var(--note-back); border-radius: .3rem; padding: .5rem .8rem; margin: 0 0 .5rem; }
ol.findings li.warning { border-color: var(--warn); background: var(--warn-back); }
ol.findings b { display: block; } ol.findings p { font-size: .9rem; } code { font-size: .88em; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
footer { color: var(--dim); font-size: .85rem; padding-bottom: 2rem; }
@media (max-width: 44rem) { .pair { grid-template-columns: 1fr; } .tiles { grid-template-columns: 1fr 1fr; }
  header, main, footer { padding-left: .75rem; padding-right: .75rem; } section { padding: .75rem; } td.fill { width: 18%%; min-width: 3.5rem; } }
@media print { :root { color-scheme: light; } body { background: #fff; font-size: 11px; } header, main, footer { max-width: none; padding: 0; }
  section, .tiles li { break-inside: avoid; border-color: #ccc; } .scroll, .hold { overflow: visible; }
  svg.wide, svg.half, svg.calendar { min-width: 0; } details { display: none; } * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } @page { margin: 14mm; } }
''' % (_LIGHT, _DARK)
