"""The look and the behaviour of the HTML page: one style sheet, one small script, both named by their hash in its policy."""

STYLE = '''
:root { color-scheme: light dark; --back: #fbfaf8; --card: #fff; --text: #1f2328; --dim: #656d76; --line: #dedad3; --soft: #f1eeea;
  --you: #0b5cad; --you-back: #eaf2fb; --model: #7a4b00; --error: #b3261e; --mark: #ffe38a; --old: #fbe9e7; --new: #e6f4ea; }
@media (prefers-color-scheme: dark) { :root { --back: #16181b; --card: #1e2125; --text: #e4e6e8; --dim: #9aa1a9; --line: #353a40;
  --soft: #272b30; --you: #82b9f2; --you-back: #1c2a3a; --model: #e2b26b; --error: #ff9c94; --mark: #6b5600; --old: #3b2523; --new: #1f3527; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 4rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto,
  "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; overflow-wrap: anywhere; }
a { color: var(--you); }
header.page, main, footer, .tools-bar > div { max-width: 60rem; margin: 0 auto; padding: 0 1.25rem; }
header.page { padding-top: 1.75rem; padding-bottom: .75rem; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .75rem; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0; font-size: .9rem; }
dl.facts dt { color: var(--dim); } dl.facts dd { margin: 0; }
.note { color: var(--dim); font-size: .85rem; margin: .6rem 0 0; }
.tools-bar { position: sticky; top: 0; z-index: 2; background: var(--back); border-bottom: 1px solid var(--line); padding: .5rem 0; }
.tools-bar > div { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.tools-bar input[type=search] { flex: 1 1 12rem; min-width: 0; font: inherit; font-size: .95rem; padding: .3rem .6rem; color: var(--text);
  background: var(--card); border: 1px solid var(--line); border-radius: .4rem; }
.tools-bar button, .tools-bar label { font: inherit; font-size: .85rem; color: var(--text); background: var(--soft);
  border: 1px solid var(--line); border-radius: .4rem; padding: .25rem .6rem; cursor: pointer; white-space: nowrap; }
.tools-bar label input { margin: 0 .3rem 0 0; vertical-align: -1px; }
.tools-bar output { font-size: .85rem; color: var(--dim); min-width: 5.5rem; }
:focus-visible { outline: 2px solid var(--you); outline-offset: 2px; }
nav { font-size: .9rem; margin: 1rem 0 0; }
nav ol { margin: .5rem 0 0; padding: 0 0 0 .25rem; list-style: none; max-height: 22rem; overflow: auto; }
nav li a { display: block; padding: .1rem .3rem; color: inherit; text-decoration: none; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
nav li a:hover { background: var(--soft); } nav li b { color: var(--dim); font-weight: 500; display: inline-block; min-width: 2rem; }
section.turn { border-top: 1px solid var(--line); margin-top: 1.5rem; padding-top: .25rem; }
section.turn > h2 { font-size: .85rem; font-weight: 600; color: var(--dim); margin: .6rem 0 .2rem; }
section.turn > h2 a { color: inherit; text-decoration: none; }
article { position: relative; margin: .8rem 0; }
article > .who { font-size: .8rem; color: var(--dim); display: flex; flex-wrap: wrap; gap: .2rem .6rem; align-items: baseline; }
.who b { font-size: .9rem; color: var(--model); } .who a { color: var(--dim); text-decoration: none; margin-left: auto; }
.who a:hover { text-decoration: underline; }
article.user { background: var(--you-back); border-left: 3px solid var(--you); border-radius: .4rem; padding: .6rem .9rem; }
article.user .who b { color: var(--you); }
article.sub { margin-left: 1rem; padding-left: .8rem; border-left: 2px dotted var(--line); }
.text p, .text h4 { margin: .5rem 0; white-space: pre-wrap; } .text h4.h1, .text h4.h2 { font-size: 1.1rem; }
.text p.li { margin: .15rem 0 .15rem 1.4rem; } .text p.li span { float: left; margin-left: -1.4rem; color: var(--dim); }
.text p.d1 { margin-left: 2.6rem; } .text p.d2 { margin-left: 3.8rem; } .text p.d3 { margin-left: 5rem; }
.text p.d4, .text p.d5 { margin-left: 6.2rem; }
pre, code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono", "Noto Sans Mono CJK SC", monospace; }
code { font-size: .88em; background: var(--soft); border-radius: .25rem; padding: .1em .3em; }
pre { position: relative; font-size: .84rem; line-height: 1.45; background: var(--soft); border-radius: .4rem; padding: .6rem .8rem;
  margin: .5rem 0; overflow: auto; max-height: 36rem; white-space: pre-wrap; tab-size: 4; }
pre code { padding: 0; background: none; font-size: 1em; } pre .lang { float: right; color: var(--dim); font-size: .75rem; }
.text pre { white-space: pre; } pre.old { background: var(--old); } pre.new { background: var(--new); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem; } th, td { border: 1px solid var(--line);
  padding: .25rem .6rem; text-align: left; vertical-align: top; }
details { border: 1px solid var(--line); border-radius: .4rem; background: var(--card); }
details > summary { cursor: pointer; padding: .3rem .7rem; font-size: .88rem; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
details[open] > summary { border-bottom: 1px solid var(--line); white-space: normal; }
details > summary code { background: none; padding: 0; color: var(--dim); }
details > div { padding: .3rem .8rem .6rem; } details .text { color: var(--dim); }
details h5 { font-size: .78rem; font-weight: 600; color: var(--dim); margin: .5rem 0 .1rem; }
.mark { font-size: .75rem; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .5rem; color: var(--dim); }
.mark.bad { color: var(--error); } article.bad > details { border-color: var(--error); }
:target { scroll-margin-top: 4rem; } article:target, article:target > details { box-shadow: 0 0 0 2px var(--mark); border-radius: .4rem; }
::highlight(found) { background: var(--mark); color: inherit; }
[hidden], body.no-tools article.tool, body.no-thinking article.thinking { display: none; }
footer { color: var(--dim); font-size: .8rem; padding-top: 2rem; padding-bottom: 3rem; }
@media (max-width: 40rem) { body { font-size: 15px; } header.page, main, footer, .tools-bar > div { padding-left: .8rem; padding-right: .8rem; }
  h1 { font-size: 1.25rem; } dl.facts { font-size: .85rem; } article.sub { margin-left: .3rem; }
  .tools-bar input[type=search] { flex-basis: 100%; } .tools-bar output:empty { display: none; } }
@media print { :root { --back: #fff; --card: #fff; --soft: #f6f6f6; --text: #000; --dim: #444; --line: #bbb; --you: #003a75; --you-back: #fff; }
  body { font-size: 10.5pt; } .tools-bar, nav { display: none; } header.page, main, footer { max-width: none; padding: 0; }
  pre, .text pre { max-height: none; overflow: visible; white-space: pre-wrap; } details > summary { white-space: normal; }
  article.user, .who, h2, h4 { break-inside: avoid; break-after: avoid; } a { color: inherit; } .who a { display: none; } }
'''

SCRIPT = '''
(function () {
  'use strict';
  var main = document.querySelector('main'), bar = document.querySelector('.tools-bar');
  var articles = Array.prototype.slice.call(main.querySelectorAll('article'));
  var field = document.getElementById('find'), count = document.getElementById('count');
  var texts = null, hits = [], at = -1, timer = null, opened = [];
  bar.hidden = false;

  function open(node) {
    for (; node && node !== main; node = node.parentElement) {
      if (node.tagName === 'DETAILS' && !node.open) { node.open = true; opened.push(node); }
    }
  }
  function ranges(word) {
    if (!window.Highlight || !CSS.highlights) { return; }
    CSS.highlights.delete('found');
    if (!word) { return; }
    var found = new Highlight(), left = 2000;
    hits.forEach(function (article) {
      var walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT), node;
      while (left > 0 && (node = walk.nextNode())) {
        var text = node.data.toLowerCase(), from = text.length === node.data.length ? text.indexOf(word) : -1;
        while (from >= 0 && left-- > 0) {
          var range = new Range();
          range.setStart(node, from); range.setEnd(node, from + word.length);
          found.add(range);
          from = text.indexOf(word, from + word.length);
        }
      }
    });
    CSS.highlights.set('found', found);
  }
  function search() {
    var word = field.value.trim().toLowerCase();
    opened.forEach(function (node) { node.open = false; });
    opened = []; hits = []; at = -1;
    if (word && !texts) { texts = articles.map(function (a) { return a.textContent.toLowerCase(); }); }
    articles.forEach(function (article, n) {
      var fits = !word || texts[n].indexOf(word) >= 0;
      article.hidden = !fits;
      if (fits && word) {
        hits.push(article);
        if (hits.length <= 200) {
          Array.prototype.forEach.call(article.querySelectorAll('details'), function (node) {
            if (node.textContent.toLowerCase().indexOf(word) >= 0) { open(node); }
          });
        }
      }
    });
    Array.prototype.forEach.call(main.querySelectorAll('section'), function (section) {
      section.hidden = !!word && !section.querySelector('article:not([hidden])');
    });
    count.textContent = word ? hits.length + ' of ' + articles.length : '';
    ranges(word);
  }
  function go(step) {
    if (!hits.length) { return; }
    at = (at + step + hits.length) % hits.length;
    hits[at].scrollIntoView({block: 'start'});
    count.textContent = (at + 1) + ' of ' + hits.length;
  }
  function target() {
    var node = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (node) {
      if (node.closest('[hidden]')) { field.value = ''; search(); }
      if (node.classList.contains('tool') || node.closest('.tool')) { document.getElementById('tools').checked = true; shown(); }
      if (node.classList.contains('thinking')) { document.getElementById('thinking').checked = true; shown(); }
      open(node.querySelector('details') || node);
      node.scrollIntoView();
    }
  }
  function shown() {
    ['tools', 'thinking'].forEach(function (name) {
      document.body.classList.toggle('no-' + name, !document.getElementById(name).checked);
    });
  }
  function all(state) {
    opened = [];
    Array.prototype.forEach.call(main.querySelectorAll('article details'), function (node) { node.open = state; });
  }
  field.addEventListener('input', function () { clearTimeout(timer); timer = setTimeout(search, 150); });
  field.addEventListener('keydown', function (event) {
    if (event.key === 'Enter') { event.preventDefault(); clearTimeout(timer); if (at < 0) { search(); } go(event.shiftKey ? -1 : 1); }
    if (event.key === 'Escape') { field.value = ''; search(); }
  });
  document.addEventListener('keydown', function (event) {
    if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); field.focus(); }
  });
  ['tools', 'thinking'].forEach(function (name) { document.getElementById(name).addEventListener('change', shown); });
  document.getElementById('open').addEventListener('click', function () { all(true); });
  document.getElementById('close').addEventListener('click', function () { all(false); });
  window.addEventListener('hashchange', target);

  var turns = main.querySelectorAll('section.turn[id]');
  if (turns.length > 2) {
    var list = document.querySelector('nav ol');
    Array.prototype.forEach.call(turns, function (section) {
      var prompt = section.querySelector('article.user .text');
      if (!prompt) { return; }
      var item = document.createElement('li'), link = document.createElement('a'), number = document.createElement('b');
      number.textContent = section.id.slice(5) + '.';
      link.href = '#' + section.id;
      link.appendChild(number);
      link.appendChild(document.createTextNode((prompt.firstElementChild || prompt).textContent.trim().slice(0, 160)));
      item.appendChild(link);
      list.appendChild(item);
    });
    document.querySelector('nav').hidden = false;
  }
  shown();
  target();
})();
'''
