"""User slots of Codex rollouts: prompts, and what else stands there."""
from ..events import INJECTED, PROMPT, QUEUED, TYPED
from .codex_text import mark, shell_parts, user_parts, word

# Families of records that repeat each other's texts: response items, screen events, completed items.
ITEM, EVENT, DONE = 0, 1, 2


class UserRecords(object):
    """The part of the parser that reads user slots (see codex_parse.Parser, which has state and the helpers)."""

    def _user(self, family, typed, images, injected):
        """Events of a message in a user slot: the prompt first, then what the harness put in."""
        out, state = [], self.state
        self.calls.request()
        if typed.strip() or images and not injected:
            shown = '\n'.join([typed] * bool(typed.strip()) + ['[image]'] * images)
            if state.get('machine') or self.chain:
                ident = self._first(family, 'j' + mark(typed))
                if ident:
                    out.append(self._event(INJECTED, 'task', ident, None, shown, images or None, 0))
            else:
                self._prompt(family, 'p' + mark(typed), shown, images, out)
        part = 0
        for label, text in injected:
            for one, shown in shell_parts(text) if label == 'shell' else ((label, text),):
                part += 1
                ident = self._first(family, 'j' + mark(text) + one[:1])
                if ident:
                    out.append(self._event(INJECTED, one, ident, None, shown, None, part))
                if 'cwd' not in state and '<cwd>' in text:
                    # The only place that names the directory before September 2025.
                    self._note('cwd', text.partition('<cwd>')[2].partition('</cwd>')[0].strip(), out)
        return out

    def _prompt(self, family, ident, shown, images, out):
        state = self.state
        counts = state.setdefault('seen', {}).get(ident)
        told = counts is not None and counts[family] < max(counts)
        again = not told and counts is not None and counts[family] and state.get('aborted')
        if not told and not again and state.get('turn_id') is None:
            state['asked'] = state.get('asked', 0) + 1
            self._fresh()
        ident = self._first(family, ident)
        if not ident:
            return
        if again:
            # After an interruption the client may write the prompt once more.
            out.append(self._event(INJECTED, 'duplicate', ident, None, shown, images or None, 0))
            return
        label = QUEUED if state.get('running') and state.get('prompted') else TYPED
        state['prompted'] = 1
        self.turn += 1
        state['turn'] = self.turn
        self.calls.request()
        out.append(self._event(PROMPT, label, ident, None, shown, images or None, 0))

    def _user_event(self, payload):
        kind = payload.get('kind')
        text = word(payload.get('message'))
        images = sum(len(payload[k]) for k in ('images', 'local_images') if type(payload.get(k)) is list)
        if kind not in (None, 'plain'):
            return self._user(EVENT, '', 0, [('meta', text)] if text.strip() else [])
        typed, _, injected = user_parts(text, (), True)
        return self._user(EVENT, typed, images, injected)


def origins_of(payload):
    """What newer clients say of the parts of a message: 'user' for what was typed; () where they say nothing."""
    meta = payload.get('internal_chat_message_metadata_passthrough')
    parts = meta.get('content_item_metadata') if type(meta) is dict else None
    if type(parts) is not list:
        return ()
    found = [part.get('provenance') if type(part) is dict else None for part in parts]
    return tuple(word(one.get('type')) if type(one) is dict else '' for one in found)
