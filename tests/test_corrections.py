"""Corrections: a list per language of what is one and of what only looks like one, labelled by hand."""
import hashlib
import random
import re

import pytest

from echolib import corrections
from echolib.corrections_markers import ANYWHERE, ENGLISH_SIGNALS, FILLERS, HYPOTHETICAL, NO, POLITE, SIGNALS, START

try:
    from re._parser import parse
except ImportError:
    from sre_parse import parse

# language -> kind -> prompts that correct in that way.
CORRECTIONS = {
    'en': {
        'wrong': ('no, use tabs', 'No. The other directory.', 'nope', 'Nope, still the old one was right', 'no', 'no \u2014 I wanted JSON', "That's not what I meant at all",
                  'That\u2019s not what I meant.', "hold on, that's not what I asked for", "I didn't mean the test file", 'you misunderstood the task', 'not that one', 'wrong, it must be sorted',
                  'Wrong file.', "that's wrong", 'that is incorrect, the port is 8080', 'I meant the other config', 'you forgot the tests', 'You broke the build', 'actually, no', 'Actually, I wanted YAML',
                  "Wait, that's not right", 'Hmm, not like that', 'ok but you missed the second case', 'no that is the old version', 'THAT IS WRONG', 'not quite, the header is missing'),
        'undo': ('undo that', 'revert', 'Please revert your last change', 'roll that back', 'go back to the previous version', 'put it back the way it was', 'scratch that, use sqlite', 'no, undo that'),
        'broken': ('still failing', "it still doesn't work", 'The login test is still failing', "didn't work", "that doesn't work on Windows", "it\u2019s not working", 'same error', 'Same error as before',
                   "ok but it's still broken", 'now it crashes on start', 'no, it still fails', "your fix doesn't compile", 'I get the same error again'),
        'again': ('as I said, no dependencies', 'like i asked: only the header', 'try again', 'Please try that again', 'do it again', 'I told you to leave the API alone', 'I already said that the id is a string', 'no, as I said'),
        'stop': ('stop', 'Stop. Read the file first', 'stop doing that', 'please stop adding comments', "don't do that", 'no, stop', 'leave it alone'),
    },
    'zh': {
        'wrong': ('不对，应该是升序', '不對，請看第三行', '不是这样', '这不对', '错了', '你理解错了我的需求', '我说的是另一个文件', '不是我要的', '不是这个意思，', '我的意思是按日期分组', '不行，太慢', '你漏了一个文件', '答非所问', '没让你改这个'),
        'undo': ('撤销刚才的修改', '回滚', '请还原刚才的文件', '改回去', '把这个函数改回来', '恢复原样'),
        'broken': ('还是报错', '還是報錯', '还是不行', '仍然失败', '没用', '又报错了', '一样的错误', '测试还是没有通过', '页面依然无法正常工作'),
        'again': ('我说过不要用第三方库', '说了多少遍了', '再试一次', '重新来', '我刚才说了用中文'),
        'stop': ('停', '停下，先别写', '别再改了', '不要这样', '别动那个文件', '住手'),
    },
    'ja': {
        'wrong': ('違います。', '違う、そこではない', 'それは間違っています', 'そうじゃない', 'いや、別のファイルです', 'いいえ、JSONです', 'そういう意味ではありません', '私が言ったのは別の関数です', 'そんなことは頼んでいません。'),
        'undo': ('元に戻して', 'さっきの変更を元に戻してください', '取り消して', '戻してください'),
        'broken': ('まだエラーが出ます', 'まだ動かない', '同じエラーが出ます', '直っていません', 'やっぱり失敗します', 'うまくいきません', '動きません'),
        'again': ('もう一度やってください', 'さっき言ったでしょう', 'やり直して', '何度も言っていますが'),
        'stop': ('やめて', '待って、まだ変えないで', '勝手にファイルを消さないでください'),
    },
    'ko': {
        'wrong': ('아니요, 다른 파일입니다', '아니, 그거 말고', '그게 아니라 설정 파일', '그런 뜻이 아니에요', '틀렸어', '잘못 이해했어요', '제가 말한 건 다른 함수입니다', '제 말은 정렬하라는 거예요'),
        'undo': ('되돌려 줘', '방금 변경한 거 되돌려주세요', '원래대로 해줘', '취소해줘'),
        'broken': ('아직도 안 돼요', '여전히 에러가 나요', '또 실패했어요', '같은 오류가 나요', '안 돼', '그래도 안 됩니다'),
        'again': ('다시 해줘', '아까 말했잖아', '제가 말했듯이 API는 건드리지 마세요', '몇 번을 말해야 하나요'),
        'stop': ('그만', '멈춰', '하지 마', '건드리지 마세요'),
    },
    'es': {
        'wrong': ('no, usa tabuladores', 'No es eso', 'eso no es lo que pedí', 'Así no', 'está mal', 'te equivocaste de archivo', 'me refería al otro fichero', 'no me entendiste'),
        'undo': ('deshaz eso', 'revierte los cambios', 'vuelve a como estaba antes', 'déjalo como estaba'),
        'broken': ('sigue fallando', 'no funciona', 'todavía no funciona', 'El test sigue fallando', 'el mismo error'),
        'again': ('como te dije, sin dependencias', 'ya te lo dije', 'inténtalo de nuevo', 'hazlo otra vez'),
        'stop': ('para, eso no', 'detente', 'deja de cambiar los nombres', 'no toques eso'),
    },
    'de': {
        'wrong': ('nein, nimm Tabs', 'Nein.', 'falsch', 'das ist falsch', 'Das ist nicht richtig', 'stimmt nicht', 'so nicht', 'ich meinte die andere Datei', 'Du hast mich falsch verstanden', 'nicht das, sondern die zweite Spalte',
                  'das ist nicht, was ich wollte', 'du hast die Tests vergessen'),
        'undo': ('mach das rückgängig', 'nimm das wieder raus', 'setz das zurück', 'bitte mach die Änderung rückgängig'),
        'broken': ('geht immer noch nicht', 'funktioniert nicht', 'Der Test ist immer noch rot', 'derselbe Fehler', 'es kommt immer noch der gleiche Fehler'),
        'again': ('wie gesagt, ohne Abhängigkeiten', 'ich habe dir doch gesagt, dass das nicht geht', 'versuch es nochmal', 'nochmal'),
        'stop': ('stopp', 'halt, nicht löschen', 'hör auf damit', 'lass das'),
    },
    'fr': {
        'wrong': ('non, utilise des tabulations', "ce n'est pas ça", "C'est pas ce que je voulais", "c'est faux", 'pas comme ça', 'je voulais dire le second fichier', 'tu as mal compris', 'tu as oublié les tests', "ce n\u2019est pas ce que j\u2019ai demandé"),
        'undo': ('annule ça', 'annule tes changements', 'reviens en arrière', 'remets comme avant'),
        'broken': ('ça ne marche pas', 'ça marche toujours pas', 'toujours la même erreur', 'même erreur', 'le test est encore en échec'),
        'again': ("comme je l'ai dit, sans dépendances", 'je te l\u2019ai déjà dit', 'réessaye', 'recommence'),
        'stop': ('arrête', "arrête de changer l'API", 'stop', 'laisse tomber'),
    },
    'pt': {
        'wrong': ('não, use tabs', 'não é isso', 'isso está errado', 'não foi isso que eu pedi', 'eu quis dizer o outro arquivo', 'você esqueceu os testes', 'assim não'),
        'undo': ('desfaz isso', 'desfaça', 'reverte as mudanças', 'volta para a versão anterior'),
        'broken': ('não funcionou', 'ainda não funciona', 'continua falhando', 'o teste ainda está falhando', 'mesmo erro'),
        'again': ('como eu disse, sem dependências', 'já te falei', 'tente de novo'),
        'stop': ('pare', 'pare com isso', 'não mexa nisso'),
    },
    'ru': {
        'wrong': ('нет, используй табы', 'Нет.', 'не то', 'это неправильно', 'не так, нужно по дате', 'ты не понял', 'я имел в виду другой файл', 'не то, что я просил', 'ты забыл тесты'),
        'undo': ('отмени это', 'откати изменения', 'верни как было', 'отмени'),
        'broken': ('не работает', 'всё ещё не работает', 'опять ошибка', 'та же ошибка', 'тесты до сих пор падают'),
        'again': ('как я уже говорил, без зависимостей', 'попробуй ещё раз', 'я же сказал', 'переделай'),
        'stop': ('стоп', 'хватит', 'остановись', 'не трогай это'),
    },
}

NONE = {
    'en': ('no problem', 'No problem, go on', 'no worries', 'no, thanks', "No, that's fine", "no need to ask, just go ahead", 'there is no config file', 'no tests needed', 'No-op the migration', 'no-cache headers for the API',
           'nope-ish flags should parse', 'stop words should be removed before indexing', 'Stop the server when the tests end', 'add a wrong-answer handler', 'Wrong password attempts must be counted', 'implement the undo stack',
           'the revert command should take a hash', 'Undo and redo buttons need icons', 'let users go back to the list', 'Go back to the list page after saving', 'if it fails, try again with backoff',
           'show a banner when the network is not working', 'Add a fallback if the fetch still fails', 'which of these tests are still failing?', 'return the same error for both endpoints', 'same error handling in all routes', 'not sure which one is better',
           'nothing else', 'Now add the docs', 'notice how the cache works', 'Another thing: the header', 'it works, thanks', "that's right", 'Actually, that works great', 'the north star metric', '/undo', '<b>no</b>', '[no, wait]',
           'I noticed the loader is slow', 'Please write a test for parse_no()', 'retry the upload three times', 'correct the spelling in README', "that's not urgent, but rename it some day", 'What does the stop button do?',
           'yes', 'ok', 'continue', 'great, no changes needed', 'Do it', 'Explain why the build failed', 'no idea, you choose', 'Same as above for the second table', 'I want you to revert commits in the sandbox repo as a demo'),
    'zh': ('不错', '不错，继续', '不对称加密怎么实现', '没问题', '没关系', '不用了，谢谢', '不客气', '不要紧', '不用担心，继续吧', '停止服务的脚本在哪里', '实现撤销功能', '如果还是失败就重试三次', '不同的主题', '错误处理要统一', '请对齐表格', '对，就这样', '好的，继续', '还是用 React 吧',
           '不过先写测试', '请重新设计首页', '当请求仍然失败时显示提示', '我想说明一下背景', '没有测试的模块有哪些', '别名怎么配置', '停车场管理系统'),
    'ja': ('大丈夫です', '違いを教えてください', '元に戻すボタンを追加してください', '問題ありません', 'エラーが出た場合は再試行する', '間違った入力を検出する機能', 'もう一度ログインできるようにする', 'はい', 'いい感じです', '同じエラーハンドリングを使う', 'まだ実装していない機能を一覧にして', '待ち時間を短くして',
           'ありがとう', '動かない場合のメッセージを追加', 'いやな匂いのするコードを探して'),
    'ko': ('괜찮아요', '아니면 다른 방법으로', '되돌리기 기능을 추가해 줘', '문제 없어요', '잘못된 입력을 처리해 줘', '네', '좋아요', '다시 시작하는 버튼을 만들어 줘', '실패하면 재시도해 줘', '아직 구현하지 않은 기능을 보여줘', '오류 메시지를 번역해 줘', '중지 버튼을 추가'),
    'es': ('no hay problema', 'No, gracias', 'no pasa nada', 'está bien', 'sí', 'para cada archivo añade una cabecera', 'si no funciona, usa el otro', 'noticias del día', 'nombra la función de otra manera', 'el mismo error debe devolverse en las dos rutas', 'para mejorar el rendimiento usa caché', 'muestra un aviso cuando el servidor no funciona'),
    'de': ('kein Problem', 'nein danke', 'Nein, passt', 'alles gut', 'ja', 'falsche Passwörter sollen gezählt werden', 'wenn es immer noch nicht geht, nimm die andere', 'noch ein Test bitte', 'Halte die Funktionen kurz', 'nicht benötigte Importe entfernen', 'warte auf den Server, bevor die Tests laufen', 'Rückgabewert dokumentieren',
           'das ist nicht dringend, aber benenne es um'),
    'fr': ('pas de problème', 'non merci', "non, c'est bon", 'oui', 'pas encore', "affiche un message quand le serveur ne marche pas", 'Non-régression : ajoute des tests', "c'est parfait", "si ça ne marche pas, utilise l'autre", 'Ajoute un bouton annuler', 'nombre de lignes par fichier', 'pas mal'),
    'pt': ('sem problema', 'não, obrigado', 'tudo bem', 'sim', 'para cada arquivo adicione um cabeçalho', 'se ainda não funciona, use o outro', 'nome do arquivo em minúsculas', 'no README coloque um exemplo', 'mostre um aviso quando o servidor não funciona', 'está ótimo', 'mas adicione testes'),
    'ru': ('нет проблем', 'нет, спасибо', 'всё хорошо', 'да', 'если всё ещё не работает, возьми другой', 'не забудь про тесты', 'неправильно введённый пароль должен считаться', 'не так важно, но переименуй', 'добавь кнопку отмены', 'стоп-слова убрать из индекса', 'новый файл для настроек', 'подожди пять секунд перед повтором'),
}

# Written before the markers that find them were known, of all languages.
UNSEEN = (
    'No, I said the other branch', 'Nooo that broke everything', 'you got it wrong again', "That isn't what I wanted", "it's the wrong file",
    'Still getting a 500 on login', 'this still throws TypeError', "I'm still seeing the old header", "Doesn't work. The page is blank", 'undo please',
    'Revert all of it', 'can you undo the last change?', 'why did you delete my file? put it back', "don't touch it", 'Please stop, you are editing generated code',
    'like I said before, use pnpm', "that's not it", "it's not what I asked for", 'You ignored my instructions', 'Hmm still no luck', 'wrong approach', '不，我要的是列表',
    '不是啊，是第二个', '还是一样', '还有报错', '你怎么又改了这个文件', '改错地方了', '不要改这个文件了', '請撤銷剛才的修改', '还是没反应', 'いや、そうじゃなくて', 'エラーがまだ出ています', 'さっきの変更は取り消してください', 'まだ直っていない', '違うって', 'ちがう',
    '아니 그게 아니고', '아직도 에러나요', '여전히 안 됩니다', '다시 되돌려줘', '아까 말씀드렸는데요', 'No, eso está mal', 'aún no funciona', 'sigue sin funcionar', 'Eso no funciona', 'No era eso',
    '¡No! Otra vez el mismo error', 'Nein, das meinte ich nicht', 'Klappt immer noch nicht', 'Das funktioniert so nicht', 'Mach das bitte wieder rückgängig',
    'Das hast du falsch verstanden', 'Non, pas ça', 'Toujours pas', 'Ça ne fonctionne toujours pas', 'Annule la dernière modification', 'Não, está errado',
    'Continua dando erro', 'ainda não está funcionando', 'Não era isso que eu queria', 'Нет, это не то', 'Всё равно не работает', 'Снова та же ошибка', 'верни обратно',
    'ты опять всё сломал',)
UNSEEN_NONE = (
    "Now let's do the second part", 'No changes to the API please, just internal cleanup', 'Not a big deal, carry on',
    'Write a function that returns true if a word is wrong', 'Note that the config must stay', 'node --test fails on CI with exit code 1',
    'I still need a summary of the meeting', 'Still, good work. Next: add docs', 'It is still early, plan the week', 'That is exactly right',
    'stopwatch component please', 'Same for the other module', 'Same as yesterday', 'Try the new model on the same data', 'The tests pass now, commit',
    'How do I undo a git commit?', 'Undo support for the editor: design it', 'Do not use external libraries', "Please don't forget tests",
    'You should also handle timeouts', 'Is that wrong?', "What's wrong with this function?", 'Fix the wrong indentation in utils',
    'I mean, it works, but can it be faster?', 'the API returns an error when the token is missing', '给我一个不对外公开的接口', '不管怎样先提交', '不必写测试', '还是先写文档吧', '还有一个问题：缓存怎么失效',
    '不是所有用户都能看到，加权限检查', '没有问题，提交吧', '错误码列表', '停用词过滤', '别忘了写测试', '不要使用第三方库', '違いは何ですか', '違う言語に翻訳して', 'いいえの場合は終了する分岐を追加', '戻り値の型を直して', 'まだ時間があるのでテストも書いて', '止めるべき条件を列挙して',
    '아니메 목록을 만들어줘', '안녕하세요', '안 쓰는 import 삭제', '다음 단계 진행', 'no olvides los tests', 'no uses librerías externas', 'nota: añade pruebas',
    'aún faltan los tests, escríbelos', 'no es urgente', 'si sigue fallando avísame', 'nicht vergessen: Tests', 'noch nicht committen', 'nein heißt im Formular false',
    'neue Tests schreiben', 'das ist nicht schlimm', 'non null assertion operator', 'note les résultats dans un fichier', "encore un test s'il te plaît",
    "ne change pas l'API", 'não esqueça dos testes', 'não use bibliotecas externas', 'ainda falta o README', 'не используй сторонние библиотеки',
    'нетто и брутто в отчёте', 'ещё один тест', 'это не срочно', 'нет ли способа проще?', 'Does this still work on Windows?', 'Can you check why the build is still red?',)


def cases(table):
    """-> [(language, kind or None, text)] of a table."""
    return [(language, kind, text) for language in table for kind in sorted(table[language]) for text in table[language][kind]]


@pytest.mark.parametrize('language', sorted(CORRECTIONS))
def test_corrections_are_found(language):
    wrong = [(text, kind, corrections.kind_of(text)) for one, kind, text in cases(CORRECTIONS)
             if one == language and corrections.kind_of(text) != kind]
    assert wrong == []


@pytest.mark.parametrize('language', sorted(NONE))
def test_what_only_looks_like_a_correction_is_none(language):
    assert [(text, corrections.kind_of(text)) for text in NONE[language] if corrections.kind_of(text)] == []


def test_prompts_of_a_second_list():
    assert [text for text in UNSEEN if corrections.kind_of(text) is None] == []
    assert [text for text in UNSEEN_NONE if corrections.kind_of(text) is not None] == []


@pytest.mark.parametrize('text', ['', ' ', '\n', '\ud800', '\u0000', 'n' * 100000, 'no' * 50000, '不' * 50000, '아' * 100000, "'" * 1000, ' still' * 20000])
def test_any_text_has_an_answer(text):
    assert corrections.kind_of(text) in corrections.KINDS + (None,)


def test_case_space_and_marks_around_change_nothing():
    for language, kind, text in cases(CORRECTIONS):
        for other in ('  ' + text, '\n' + text, text + '\nand then some more words about the task'):
            assert corrections.kind_of(other), (language, other)
        if language in ('en', 'ru'):
            assert corrections.kind_of(text.upper()) == kind


def test_typographic_apostrophes_and_missing_accents_are_the_same():
    for language, kind, text in cases(CORRECTIONS):
        for mark in '\u2019\u2018\u02bc`':
            assert corrections.kind_of(text.replace("'", mark)) == corrections.kind_of(text) == kind
    assert corrections.kind_of('ca ne marche pas') == corrections.kind_of('Ça ne marche pas')


def test_pasted_pictures_are_passed_over():
    assert corrections.kind_of('[image]\n[image]\nstill failing') == 'broken'
    assert corrections.kind_of('[image]') is None and corrections.kind_of('[other] still failing') is None


def test_only_the_beginning_is_looked_at():
    task = 'Write the report with three sections and a table of the figures for each region, then sum it up in ten lines. '
    assert len(task) > 100 and corrections.kind_of(task * 2 + "that's not what I meant") is None


def test_codes_are_places():
    assert [corrections.code(text) for text in ('hi', 'undo that', 'try again', 'still failing', 'stop', 'no, x')] == [0, 1, 2, 3, 4, 5]
    assert corrections.KINDS == ('undo', 'again', 'broken', 'stop', 'wrong')


def sample(parsed, chance):
    """Return a text that a parsed regular expression takes (what stands around it aside)."""
    out = []
    for name, arg in parsed:
        name = str(name)
        if name == 'LITERAL':
            out.append(chr(arg))
        elif name in ('ANY', 'NOT_LITERAL'):
            out.append('x')
        elif name == 'IN':
            kind, one = chance.choice([part for part in arg if str(part[0]) != 'NEGATE'])
            out.append(chr(one) if str(kind) == 'LITERAL' else chr(one[0]) if str(kind) == 'RANGE' else ' ' if str(one) in (
                'CATEGORY_SPACE', 'CATEGORY_NOT_WORD') else '1' if str(one) == 'CATEGORY_DIGIT' else 'x')
        elif name == 'BRANCH':
            out.append(sample(chance.choice(arg[1]), chance))
        elif name == 'SUBPATTERN':
            out.append(sample(arg[-1], chance))
        elif name in ('MAX_REPEAT', 'MIN_REPEAT'):
            out.extend(sample(arg[2], chance) for _ in range(chance.randint(arg[0], min(arg[1], arg[0] + 1))))
        else:
            assert name in ('ASSERT', 'ASSERT_NOT', 'AT'), name
    return ''.join(out)


@pytest.mark.parametrize('language', sorted(START))
def test_every_marker_can_be_reached(language):
    # Nothing in front of the markers (the words that must be there, what is folded, precedence) may keep one from being found.
    chance = random.Random(language)
    lost = []
    for kind in corrections.KINDS:
        for source in START[language].get(kind, ()) + ANYWHERE[language].get(kind, ()):
            parsed = parse(source)
            # Without kana a text is not known to be Japanese.
            texts = [sample(parsed, chance) for _ in range(25)]
            lost.extend((source, text) for text in texts if re.match(source, text.strip()) and (language != 'ja' or re.search('[\u3040-\u30ff]', text)) and not re.search(HYPOTHETICAL, text)
                        and corrections.kind_of(text) is None)
    assert lost == []


@pytest.mark.parametrize('language', ['es', 'de', 'fr', 'pt'])
def test_other_languages_have_words_of_their_own(language):
    chance = random.Random(language)
    for kind in corrections.KINDS:
        for source in START[language].get(kind, ()) + ANYWHERE[language].get(kind, ()):
            parsed = parse(source)
            assert all(set(re.findall(r'\w+', sample(parsed, chance).lower())) & set(SIGNALS) for _ in range(25)), source


def test_a_changed_list_needs_a_new_version():
    """Verdicts are stored: raise the version (analysis_versions) together with any change of the markers, then write both here."""
    text = repr([(name, table[name].get(kind)) for table in (START, ANYWHERE) for name in sorted(table) for kind in corrections.KINDS]
                + [FILLERS, NO, POLITE, tuple(sorted(SIGNALS + ENGLISH_SIGNALS)), HYPOTHETICAL, corrections.WINDOW])
    assert (corrections.VERSION, hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]) == (1, '10305e787ad62afa')
