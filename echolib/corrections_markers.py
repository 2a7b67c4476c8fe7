"""The markers of corrections, by language and kind: what people write when the agent got it wrong.

Regular expressions over a prompt's beginning as corrections.opening leaves it: lower case, Latin accents off, straight
apostrophes, Chinese in simplified characters. START ones stand at its very beginning (behind words such as "ok" or
"wait"), ANYWHERE ones within it. Any change needs a new version (analysis_versions): verdicts are stored in the index.
"""

# In order of precedence: the first kind that fits names the correction.
KINDS = ('undo', 'again', 'broken', 'stop', 'wrong')

# Words in front that say nothing themselves.
FILLERS = (
    r'ok(?:ay)?', r'h+m+', r'u+m+', r'uh', r'oh', r'ugh+', r'argh', r'wait', r'hold on', r'hang on', r'sorry', r'well', r'but', r'and', r'hey',
    r'so', r'please', r'pls', r'yeah', r'yes', r'again', r'pero', r'bueno', r'vale', r'aber', r'also', r'bitte', r'mais', r'bon', r'mas', r'entao',
    r'por favor', r'но', r'так', r'ну', r'пожалуйста', r'嗯+', r'呃+', r'那个', r'等等', r'等一下', r'喂', r'あの', r'えっと', r'うーん', r'すみません',
    r'ちょっと', r'음+', r'저기', r'근데', r'잠깐만?', r'죄송하지만')
# A plain no. Behind it the other kinds are looked for first, and politeness makes it none.
NO = (
    r"no+", r"nope", r"nah", r"nein", r"nee?", r"non", r"nao", r"нет", r"いや(?:いや)?", r"いいえ", r"いえ", r"아니(?:요|오|야|에요)?", r"아뇨", r"不+",
    r"不是(?:的|啊|呀|吧)?")
POLITE = (
    r"thank", r"thx", r"problem", r"worr", r"need\b", r"that'?s (?:all|fine|ok|it|good|right|great)",
    r"it'?s (?:fine|ok|all good|good|right)", r"all good", r"nothing", r"i'?m (?:good|fine|done)", r"go ahead", r"gracias", r"pasa nada",
    r"hay problema", r"esta bien", r"danke", r"passt", r"alles gut", r"merci", r"c'est (?:bon|parfait)", r"obrigad", r"tudo bem",
    r"спасибо", r"все (?:хорошо|нормально|ок)", r"проблем", r"大丈夫", r"結構", r"ありがと", r"괜찮", r"감사", r"고마", r"用了", r"客气", r"谢", r"要紧", r"没事",
    r"没关系")

START = {
    'en': {
        'undo': (
            r"(?:can you |could you )?(?:undo|revert|discard|roll ?back) (?:that|this|it|those|these|all|everything|your|what you"
            r"|the (?:last|changes?|previous|edits?))\b", r"(?:undo|revert|roll ?back)(?:\W*$| please\b| now\b)", r"(?:undo|revert)[,.;!]",
            r"roll (?:that|this|it|them|everything) back\b", r"put (?:that|this|it|them|everything) back\b", r"scratch that\b",
            r"go back to (?:the (?:previous|old|last|original|first|earlier|prior|version|way|state|approach)|what|how|where|using"
            r"|before)\b", r"restore (?:what you|the (?:previous|old|original|last))\b",
            r"bring back (?:what you|the (?:old|previous|original))\b"),
        'again': (
            r"(?:as|like) i (?:already |just )?(?:said|asked|told|mentioned|wrote)\b",
            r"i (?:have |'ve )?(?:already|just) (?:told|said|asked|explained)\b", r"i (?:told|asked) you\b", r"i said\b",
            r"how many times\b", r"try (?:that |it |this )?again\b", r"do (?:that|it|this) again\b", r"redo (?:that|it|this)\b",
            r"read (?:it|that|my \w+|the \w+) again\b"),
        'broken': (
            r"(?:(?:that|this|it)|your \w+|the (?:fix|change|patch|command|script|code))(?: still| just| really)? (?:didn't|doesn't"
            r"|did not|does not|isn't|won't|is not|will not) (?:work|fix|help|solve|change anything|compile|build|pass|run|do (?:it"
            r"|that|anything))", r"(?:still |just |really )*(?:didn't|doesn't|did not|does not) (?:work|fix|help|solve|compile|build)",
            r"(?:(?:that|this|it)(?:'s| is)? )?(?:still )?not working\b",
            r"(?:that|this|it) (?:still |just |now )*(?:fails|failed|broke|breaks|crashes|crashed)\b",
            r"now (?:it|everything|the \w+|that) (?:\w+ )?(?:fails?|is broken|breaks|crash(?:es)?|doesn't|does not)\b",
            r"(?:exact(?:ly)? )?(?:the )?(?:exact )?same (?:error|problem|issue|result|bug|failure|exception)\b(?! (?:message|handl"
            r"|code|page|type|format|for\b|in\b|class|as the|when|if))", r"no (?:luck|change|effect|difference)\b"),
        'stop': (
            r"(?:just )?stop(?:[.,!;:]|$|\s+(?:it|that|this|there|now|right there|right now|doing|changing|adding|editing|creating"
            r"|making|trying|touching|guessing|asking|rewriting)\b)",
            r"(?:don't|do not) (?:do|touch|change|edit|delete|remove|use|add|commit|push|rewrite|rename|run) (?:that|it|this)(?:\W*$"
            r"|[.,;!]| again| yet| anymore| please)", r"(?:don't|do not) do (?:that|this|it)\b",
            r"leave (?:it|that|them) (?:alone|as it|as they)\b"),
        'wrong': (
            r"(?:that|this|it)(?:'s| is| was| isn't| is not) (?:just |still |all |completely |totally |simply |also )*(?:wrong"
            r"|incorrect)(?:\W*$|[.,;:!]| -| \u2014| again| because| since| and)",
            r"(?:that|this|it)(?:'s| is| was) (?:just |still |really |quite )*not (?:right|correct|it\b|what|how|true|the (?:right"
            r"|one|file|place|point|same|correct))",
            r"(?:that|this|it) (?:isn't|wasn't) (?:right|correct|it\b|what|how|true|the (?:right|one|file|place|point|correct))",
            r"(?:wrong|incorrect)(?: (?:one|file|place|branch|directory|folder|function|way|approach|project|repo|answer|again|line"
            r"|model))?(?:\W*$|[.,;:!] ?| \u2014| - )", r"(?:that|this|it)(?:'s| is| was) (?:still |just )?the wrong \w+",
            r"you(?:'re| are) wrong\b", r"why did you (?:delete|remove|change|revert|rewrite|drop|rename|overwrite)",
            r"not (?:that(?! i\b| it\b| much| many| big| important| long)|what i|like (?:that|this)|quite(?: right|\W*$|[.,;])"
            r"|exactly(?:\W*$|[.,;])|right\b(?! now| after| before)|correct\b|the (?:right|one|same)\b|there(?:\W*$|[.,;]))", r"i meant\b",
            r"what i meant\b", r"i mean the\b",
            r"you(?:'ve| have)? (?:just |still |again |also )*(?:broke\b|forgot|missed|ignored|skipped|overwrote|misunderstood"
            r"|misread|got (?:it|that|this) wrong|did (?:it|that|this) wrong|(?:changed|deleted|edited|removed|used|picked) the wrong)",
            r"actually,? (?:no\b|not\b|i (?:want|meant|need|said|asked|prefer)|don't|let's not|scratch|(?:that|it|this)(?:'s"
            r"| is) (?:not|wrong)|(?:that|it|this) (?:doesn't|didn't|isn't|should))",
            r"no(?:pe)? (?:that's|it's|this is|that is|not\b|you\b|i (?:meant|said|want|asked)|don't|wait|stop|use\b|the other)"),
    },
    'zh': {
        'undo': (
            r"(?:请|麻烦|先|快|帮我|把.{1,12}?)?(?:撤销|撤回|回滚|回退|还原)(?:刚|上|之前|这|那|你|它|最近|所有|全部|修改|改动|更改|到|回|掉|一下|吧|[，。！,.!]|$)",
            r"(?:请|麻烦|先|快|帮我)?(?:恢复(?:原样|原来|之前|刚才|成原|到之前|到原|到上)|改回(?:来|去|原|之前|到|成)|换回|退回(?:去|到)|倒回)", r"把.{1,12}?(?:改回|换回|恢复原)"),
        'again': (
            r"(?:我)?(?:都|已经|刚才|刚刚|刚|之前|前面|早就|不是)*(?:说过|说了|讲过|讲了|告诉过你|跟你说|提过)", r".{0,12}(?:说了多少|多少[遍次]了)", r"(?:请)?再试(?:一次|一下|试|$)",
            r"重试[。！!]?$", r"(?:请)?重新(?:来|试|做(?:一|吧|。|$))", r"(?:请)?再(?:来|做)一[次遍]", r"重做"),
        'broken': (
            r"(?:没用|没有用|没效果|没有效果|没解决|没有解决|没生效|没有生效|不起作用|不管用|不工作|跑不起来|运行不了|编译不过)", r"(?:又|现在|这次)?(?:报错了|出错了|失败了|崩了|挂了)(?:[，。！：,!:]|$)",
            r"又(?:报错|出错|错了|失败|坏了|不行|崩)", r"(?:一样|同样|相同)的?(?:错误|问题|报错)(?:[，。！,!]|$|又|还)"),
        'stop': (
            r"停(?:下|一下|手|止)?(?:[，。！!,.]|$|来)", r"住手", r"(?:不要|别)(?:这样|再|乱|动它|动那|碰|瞎)", r"(?:不要|别)(?:改|动|删)(?:.{0,8}了)?(?:[，。！!,]|$)"),
        'wrong': (
            r"(?:这|那|这样|你这|完全|还是|好像|感觉)?(?:也|就)?不对(?!称|等|齐|外|内|应|比|接|起|口)", r"不是(?:这样|这个|那个|我|让你|叫你|要你)",
            r"(?:你)?(?:又)?(?:搞|弄|改|写|看|理解|做|删)?错了", r"(?:你)?(?:理解错|误解|搞错|弄错|误会)", r"(?:我)?(?:没有?|不是)(?:让|叫|要)你",
            r"我(?:不是(?:要|说|这个)|说的(?:是|不是)|的意思(?:是|不是)|要的(?:是|不是)|想要的(?:是|不是)|指的是)", r"这不是我", r"(?:这样|这)不行", r"不行(?:[，。！,!.]|$|啊|的)",
            r"不正确(?:[，。！,]|$)", r"答非所问", r"你怎么又", r"你(?:又|怎么)(?:改|删|动|加)", r"你(?:没有?|又没)(?:理解|看懂|按|照|听|改)", r"你(?:漏|忘)(?:了|掉)"),
    },
    'ja': {
        'undo': (
            r"(?:(?:それ|これ|さっきの|今の|先ほどの|前の|変更|修正|全部).{0,8})?(?:を|は)?(?:元|もと)(?:に|の状態に)(?:戻して|戻せ|戻しな)", r"戻して(?:ください|くれ|。|!|！|$)",
            r"(?:それ|これ|さっきの|今の|先ほどの|変更|修正).{0,8}(?:取り消して|戻して)", r"(?:取り消して|取消して|リバートして|ロールバックして)"),
        'again': (
            r"(?:もう一度|もういちど|もう一回|再度)(?:やって|やり|試して|お願い|。|$)", r"やり直し(?:て|。|$)", r"(?:さっき|先ほど|前に)も?(?:言っ|言い|伝え|お願い|書い)",
            r".{0,14}(?:言った|伝えた|頼んだ)(?:はず|通り|とおり|でしょ|よね|じゃ)", r"何度も(?:言|お願い|同じ)"),
        'broken': (
            r"(?:やはり|やっぱり|また|依然(?:として)?)、?.{0,6}(?:エラー|失敗|動か|動き|ダメ|だめ|駄目)(?!.{0,6}(?:場合|とき|時|なら|たら))",
            r"(?:うまく)?(?:動か|動き)(?:ない|ません|なかった)(?!.{0,4}(?:場合|とき|時|なら|たら|ように|テスト|ファイル))", r"うまく(?:いか|いき|行か|行き)(?:ない|ません|なかった)",
            r"同じ(?:エラー|問題)(?:が(?:出|発生)|です|だ|に|。|$)", r"(?:直って|治って|解決して|できて|変わって)い?(?:ない|ません)(?!.{0,4}(?:場合|とき|時|なら))"),
        'stop': (
            r"(?:やめて|止めて|やめろ|止まって|ストップ)(?:くだ|。|、|!|！|$|く)", r"待って(?:くだ|。|、|!|！|$)", r"勝手に.{0,12}(?:ないで|やめ|変え|消さ|しな)",
            r"(?:それ|そこ|これ|そんなこと)(?:は|を|に)?.{0,8}(?:しないで|変えないで|触らないで|やめて)"),
        'wrong': (
            r"(?:それ|これ|ここ|そこ|全然|ぜんぜん|それも)?(?:は|が|も)?(?:違います|違うよ|違うって|違うん|違う(?:[。、!！]|$)|違った|ちがいます|ちがう(?:[。、!！]|$))",
            r"(?:それ|これ|ここ|そこ)?(?:は|が|も)?間違(?:って(?:い)?(?:る|ます)(?:[。、!！よ]|$)|いです|えて(?:い)?(?:る|ます)(?:[。、!！よ]|$))",
            r"そ(?:う|れ|っち|こ)(?:じゃ|では)(?:な|あ)", r"そういう(?:意味|こと|つもり)(?:じゃ|では)(?:な|あり)", r"(?:私|僕|俺)?が?(?:言いたい|言った|欲しい|頼んだ)の(?:は|と)",
            r"(?:誤解|勘違い)(?:して|です|。)"),
    },
    'ko': {
        'undo': (
            r"(?:(?:방금|이전|아까|그거|그건|이거|마지막|전부|다시)\S{0,3} ?(?:\S{1,6} ){0,2})?(?:되돌려|되돌리(?!기)|원래대로|원상 ?복구|롤백해|돌려놔|돌려 ?놓|취소해(?:줘|주세요"
            r"|[.!]|$))",),
        'again': (
            r"다시 (?:해(?:줘|주세요|봐|[.!]|$)|시도해|한 ?번 (?:해|시도))", r"(?:아까|전에도?|이미|분명히?) ?(?:제가 |내가 )?(?:말|얘기)",
            r"(?:제가|내가) (?:이미 |아까 )?(?:말|얘기)했", r"말했(?:잖|듯|던|는데)", r"몇 번(?:을|이나|째)? ?(?:말|얘기)"),
        'broken': (
            r"(?:아직도?|여전히|그래도|또)\s?(?:\S{1,8} )?(?:안 ?(?:돼|되|됩|됨|나와|고쳐|바뀌|맞)|에러|오류|실패|똑같|같은 (?:에러|오류|문제)|작동하지|동작하지"
            r"|깨[져진])(?!\S{0,3}(?:면|는(?!데)))", r"(?:같은|똑같은|동일한) (?:에러|오류|문제)(?:가|예요|에요|입니다|야|네|[.,!]|$)",
            r"안 ?(?:돼요?|되네요?|됩니다|되는데요?|됨)(?:[.,!\s]|$)", r"(?:작동|동작)(?:하지 않|이? ?안 (?:돼|되|됩))(?!\S{0,3}(?:면|는(?!데)))"),
        'stop': (
            r"(?:그만|멈춰|멈추세|스톱|하지 ?마|건드리지 ?마|그러지 ?마|그거 하지 ?마)", r"중지(?:해|[.!]|$)"),
        'wrong': (
            r"그게 아니", r"그(?:거|건|것은|게) ?(?:말고|아니|틀)", r"그런 (?:뜻|의미|말|거|게)(?:이|은|가)? ?아니", r"틀렸",
            r"잘못(?: ?(?:이해|했|하셨|짚|생각|고쳤|바꿨)|됐|되었|된 (?:것|거) 같)", r"(?:제가|내가) (?:말한|원한|원하는|요청한) (?:건|것은|게)", r"(?:제|내) 말은", r"오해(?:하|했)",
            r"이게 아니"),
    },
    'es': {
        'undo': (
            r"(?:deshaz(?:lo)?|revierte(?:lo)?)\b", r"(?:deshacer|revertir) (?:eso|esto|los? |el ultimo|todo)",
            r"vuelve (?:atras|a (?:como|la version|lo de antes|lo anterior))", r"deja(?:lo)? (?:todo )?como estaba",
            r"restaura (?:lo|el archivo|la version) (?:que|original|anterior)", r"quita (?:eso|esto|lo que)\b"),
        'again': (
            r"como (?:ya )?(?:te )?(?:dije|pedi|he dicho|mencione)\b", r"ya te (?:lo )?(?:dije|he dicho|pedi)\b",
            r"te (?:dije|he dicho|pedi) que\b", r"(?:intenta|prueba)(?:lo)? (?:de nuevo|otra vez)\b", r"hazlo (?:de nuevo|otra vez)\b",
            r"otra vez (?:no|lo mismo|mal|igual|el mismo)\b", r"cuantas veces\b"),
        'broken': (
            r"(?:eso |esto |aun |todavia |asi |ya |tampoco )*no (?:funciona|funciono|sirve|sirvio|compila)(?:\W*$|[.,;!]| (?:todavia"
            r"|aun|asi|tampoco|nada|igual)\b)",
            r"(?:es |el |con el |da el )?mismo (?:error|problema|fallo)(?:\W*$|[.,;!:]| (?:de antes|otra vez|que antes))"),
        'stop': (
            r"(?:para|detente|basta|alto|espera)(?:[,.!]|$)", r"deja de \w+",
            r"no (?:hagas|toques|cambies|borres|modifiques|uses|elimines) (?:eso|esto|nada mas|mas)\b"),
        'wrong': (
            r"no (?:es|era) (?:eso|asi|lo que|correcto|esto|lo mismo|ese|esa)\b", r"eso no(?:\W*$|[,.;!]| (?:es|era|esta bien)\b)",
            r"asi no\b", r"(?:esto |eso )?(?:esta|estas) (?:mal\b|equivocad|incorrect)", r"(?:eso )?(?:es )?incorrecto(?:\W*$|[,.;!])",
            r"te (?:equivoc|has equivoc)", r"me refer(?:ia|o) a\b", r"quise decir\b", r"lo que (?:quiero|queria) decir\b",
            r"no me (?:has )?(?:entend|entiend)", r"entendiste mal\b", r"(?:te )?(?:olvidaste|has olvidado)\b"),
    },
    'de': {
        'undo': (
            r"(?:mach|mache|nimm|setz|setze|stell|stelle|bau|dreh) (?:das|es|die|den|alles|deine|diese)\b.{0,30}?\b(?:ruckgangig"
            r"|rueckgaengig|zuruck|zurueck|wieder (?:raus|weg|her|so))\b", r"(?:ruckgangig|rueckgaengig)\b",
            r"revertieren? (?:das|es|die|alles)\b",
            r"zuruck (?:zur?|zum|auf) (?:vorherigen?|alten?|letzten?|vorigen?|ursprunglichen?)\b"),
        'again': (
            r"wie (?:ich )?(?:schon |bereits |oben |doch )*(?:gesagt|erwahnt|geschrieben)\b",
            r"ich (?:habe|hab|hatte) (?:doch |dir |schon |bereits |dir doch )+\b.{0,20}(?:gesagt|geschrieben|erklart|gebeten)\b",
            r"(?:versuch|probier)(?:e|s|'s)? (?:es |das )?(?:nochmals?|noch ?mal|noch einmal|erneut)\b",
            r"(?:nochmal|noch ?mal|noch einmal)(?:[,.!]|$)", r"mach (?:das|es) (?:nochmal|noch ?mal|noch einmal|neu)\b",
            r"wie oft (?:muss|soll)\b"),
        'broken': (
            r"(?:es |das |auch das )?(?:funktioniert|klappt|geht|lauft|kompiliert|hilft) (?:so |leider |immer noch |noch |auch "
            r"|trotzdem |weiterhin )*nicht(?:\W*$|[.,;!:]| mehr)",
            r"(?:der |die |das )?(?:selbe|gleiche|derselbe|dasselbe|dieselbe)r? (?:fehler|problem|fehlermeldung)\b(?! (?:bei|in"
            r"|wie bei))", r"hat (?:leider )?(?:nichts|nicht) (?:geholfen|gebracht|geklappt|funktioniert)"),
        'stop': (
            r"(?:stopp?|halt|aufhoren)(?:[,.!]|$)", r"warte(?: mal)?(?:[,.!]|$)", r"hor (?:auf|sofort auf|bitte auf)\b",
            r"lass (?:das|es)(?:[,.!]|$| sein| bleiben| so)", r"(?:das |es |die datei )nicht (?:andern|anfassen|loschen|verandern)\b"),
        'wrong': (
            r"falsch(?:[,.!;:]|$| verstanden)", r"falsche (?:datei|stelle|richtung|funktion|version|zeile)(?:[,.!;]|$)",
            r"das (?:ist|war) (?:so |leider |noch |immer noch |doch |aber )*(?:falsch|nicht (?:richtig|korrekt|was|das\b|gewollt"
            r"|gemeint|so gemeint))", r"(?:das )?(?:stimmt|passt) (?:so |immer noch |noch |leider |doch |aber )*nicht\b",
            r"so (?:doch )?nicht(?:[,.!]|$)", r"nicht so(?:[,.!]|$)", r"nicht (?:das|die|der|diese[rs]?|den)\b.{0,30}\bsondern\b",
            r"ich (?:meinte|meine (?:die|das|den|nicht))\b", r"gemeint (?:war|ist)\b",
            r"(?:du|sie) (?:hast|haben) (?:mich |das |es |die |den )?(?:\w+ )?(?:falsch verstanden|missverstanden|vergessen|ubersehen"
            r"|uebersehen|kaputt)", r"nein (?:das|es|ich|du|nicht|so|die|der)\b"),
    },
    'fr': {
        'undo': (
            r"annule(?:r|z)? (?:ca|ces|cette|ce|tes|tout|le dernier|la derniere|les)\b", r"annule(?:r|z)?\W*$",
            r"revien[st] (?:en arriere|a (?:la version|l'ancien|l'etat))", r"revenir en arriere\b",
            r"remets? (?:ca|comme|l'ancien|tout)\b", r"retablis\b", r"defais (?:ca|ce|tout)\b"),
        'again': (
            r"comme (?:je )?(?:l'ai|t'ai|te l'ai|vous l'ai|l'avais)? ?(?:deja )?(?:dit|demande)\b",
            r"je (?:t'|te l'|vous l'|l'|te |vous )?(?:ai|avais) (?:deja )?(?:dit|demande)\b", r"reessaye[zr]?(?:\W*$|[,.!])",
            r"essaye?(?:z)? (?:encore|a nouveau|de nouveau)\b", r"(?:refais|recommence)(?:-le| ca)?(?:\W*$|[,.!])", r"combien de fois\b"),
        'broken': (
            r"(?:ca |cela |il |elle |c'est )?(?:ne )?(?:marche|fonctionne|compile|passe)(?: toujours| encore| quand meme)? pas(?:\W*$"
            r"|[.,;!:]| mieux| non plus)", r"toujours pas(?:\W*$|[.,!])",
            r"(?:la |une |le |c'est la )?meme (?:erreur|probleme|resultat|bug)(?:\W*$|[.,;!:]| qu'avant| encore)",
            r"(?:ca |cela )n'a (?:rien change|pas marche|pas aide|rien fait)"),
        'stop': (
            r"(?:stop|arrete|arretez|attends|attendez)(?:[,.!]|$)", r"(?:arrete|arretez) (?:de |ca\b)",
            r"ne (?:fais|touche|change|modifie|supprime|fait) (?:pas|plus|jamais) (?:ca|a ca|cela|a rien)\b", r"laisse (?:ca|tomber)\b"),
        'wrong': (
            r"(?:ce n'est|c'est|c'etait|ce n'etait|c) (?:toujours )?pas (?:ca\b|bon|correct|ce que|le bon|la bonne|juste|comme)",
            r"c'est (?:faux|incorrect|errone)(?:\W*$|[,.;!])", r"faux(?:[,.!]|$)", r"pas (?:comme ca|ca\b|celui|celle|ce que)",
            r"je (?:voulais|veux) dire\b", r"je parlais d",
            r"(?:tu|vous) (?:t'es trompe|vous etes trompe|as mal|avez mal|n'as pas compris|n'avez pas compris|as oublie|avez oublie"
            r"|as casse|avez casse)", r"non (?:pas|c'est|ce n'est|je|tu|il|ca)\b(?! de (?:souci|probleme))"),
    },
    'pt': {
        'undo': (
            r"(?:desfaz|desfaca|desfaca isso)\b", r"desfazer (?:isso|isto|tudo|a ultima|o ultimo)",
            r"revert(?:a|e|er) (?:isso|isto|tudo|as (?:mudancas|alteracoes)|para|essa|esse|o que|a ultima)\b",
            r"volt(?:a|e|ar) (?:atras|para como|ao que|a versao|como estava|para a versao|pra como)",
            r"restaur[ae] (?:o que|a versao|como)\b"),
        'again': (
            r"como (?:eu )?(?:ja )?(?:disse|falei|pedi)\b", r"(?:eu )?ja (?:te )?(?:disse|falei|pedi)\b",
            r"(?:tente|tenta) (?:de novo|novamente|outra vez)\b", r"(?:faca|faz) (?:isso )?(?:de novo|novamente)\b", r"quantas vezes\b"),
        'broken': (
            r"(?:isso |ainda |assim |tambem )*nao (?:funciona|funcionou|deu certo|esta funcionando|ta funcionando|resolveu|adiantou"
            r"|compila)(?:\W*$|[.,;!:]| (?:ainda|assim|nada|tambem)\b)",
            r"(?:o |e o )?mesmo (?:erro|problema)(?:\W*$|[.,;!:]| (?:de antes|de novo))"),
        'stop': (
            r"(?:pare|para|chega|espera|espere|calma)(?:[,.!]|$)", r"(?:pare|para) (?:com isso|de (?:fazer|mudar|mexer|criar|adicionar))",
            r"nao (?:faca|mexa|mude|altere|toque|apague) (?:isso|nisso|nada)\b"),
        'wrong': (
            r"nao (?:e|era|foi) (?:bem )?(?:isso|isto|assim|o que|esse|essa)\b", r"isso (?:nao (?:e|era|esta certo)|(?:esta|ta) errado)\b",
            r"(?:esta|ta) errado\b", r"errado(?:[,.!]|$)", r"assim nao\b", r"(?:eu )?quis dizer\b", r"(?:eu )?me ref(?:eria|iro) a",
            r"voce (?:entendeu errado|nao entendeu|esqueceu|errou|quebrou)\b", r"eu nao pedi\b"),
    },
    'ru': {
        'undo': (
            r"отмени(?:те)?(?:\W*$|[.,!]| (?:это|все|изменени|последн|свои|его|правк|то\b))",
            r"откати(?:те|сь)?(?:\W*$|[.,!]| (?:это|все|изменени|последн|назад|обратно|к ))",
            r"верни(?:те)? (?:как было|назад|обратно|все|это|прежн|стар|предыдущ)", r"убери(?:те)? это\b"),
        'again': (
            r"как я (?:уже )?(?:говорил|сказал|писал|просил)", r"я (?:же |уже |ведь |тебе )+(?:говорил|сказал|просил|писал)",
            r"(?:попробуй|сделай|повтори)(?:те)? (?:это )?(?:еще раз|снова|заново)", r"еще раз(?:[,:.!]|$)", r"сколько раз\b",
            r"(?:повтори|переделай)(?:те)?(?:\W*$|[.,!]| это)"),
        'broken': (
            r"(?:это |так |у меня )?не (?:работает|помогло|сработало|получилось|заработало|компилируется|собирается"
            r"|запускается)(?:\W*$|[.,;!:]| (?:все|так|опять|как))",
            r"(?:опять |снова |все )?(?:та|тот|то|такая|такой)(?: же)(?: сам(?:ая|ый|ое))?(?: (?:ошибка|проблема|баг|самое|результат)"
            r"|\W*$)"),
        'stop': (
            r"(?:стоп|остановись|остановитесь|хватит|подожди|подождите|погоди|стой)(?:[,.!]|$)", r"хватит \w+",
            r"не (?:трогай|делай|меняй|удаляй|изменяй|надо)(?:те)?(?: (?:это|этого|так|его|ничего))?(?:[,.!]|$| больше)"),
        'wrong': (
            r"не (?:то|туда|там|тот|та|те|этот|эта)(?:[,.!]|$| (?:файл|что|место|функци|ветк|надо|нужно))",
            r"не так(?:[,.!]|$| надо| нужно| сделал)", r"(?:это |все |опять )?(?:неправильно|неверно)(?:[,.!]|$| понял| сделал| работает)",
            r"это (?:не (?:то|так|правильно|верно|работает|тот|та)|ошибка)(?:[,.!]|$| что| чего)",
            r"(?:ты|вы) (?:меня |опять |все |снова )*(?:не так |неправильно |не )?(?:понял|поняли|ошибся|ошиблись|забыл|забыли"
            r"|пропустил|сломал|сломали|удалил не)", r"я (?:имела? в виду|не (?:просила?|это|об этом|то)|хотела? не)",
            r"нет (?:не|это|ты|вы|я|так|стоп)\b"),
    },
}

ANYWHERE = {
    'en': {
        'undo': (
            r"\bput (?:it|that|this|them) back\b(?! (?:in|on|into)\b)",),
        'broken': (
            r"\bstill (?:throw(?:s|ing)?|getting|seeing|not\W*$)\b",
            r"\bstill (?:is |are |does |getting |get |gets |see |seeing |has |have |says |shows |throws |gives |the |not |a "
            r"|an )*(?:broken|fail(?:s|ing|ed)?\b|doesn't|does not|don't|not working|not fixed|crash(?:es|ing)?|errors?\b|erroring"
            r"|wrong\b|same\b|isn't|won't|can't|happen(?:s|ing)|hang(?:s|ing)|red\b|no luck)",
            r"\bsame (?:error|problem|issue|result|failure) (?:as before|again|as last time)\b",
            r"\bbut (?:it|that|this) (?:still |just )?(?:didn't|doesn't|does not|did not) (?:work|help|fix)"),
        'wrong': (
            r"\bnot what i (?:meant|asked|wanted|said|want\b|need|had in mind|was asking)", r"\bi (?:didn't|did not) mean\b",
            r"\byou(?:'ve| have)? (?:\w+ )?misunderst(?:ood|and)", r"\bi never (?:asked|said|wanted|told)\b",
            r"\bi (?:didn't|did not) (?:ask (?:for|you)|say that|tell you)\b"),
    },
    'zh': {
        'again': (
            r"说了多少[遍次]",),
        'broken': (
            r"(?:还是|仍然|依然|依旧|仍旧|还在|仍在|还)(?:会|在|是|有|出现|提示|显示)?(?:报错|不行|失败|有错|有问题|没有?(?:用|变|效果|反应|解决|生效|好|通过|成功|修好|改)|不能(?:用|运行|工作|正常)"
            r"|无法(?:运行|正常|工作)|一样的?(?:错|问题|报错|[，。！,!]|$)|出错|老样子|跑不|错的|崩溃|不工作|不起作用|同样的|不通过)", r"问题(?:还|依然|仍然|依旧)(?:是|在|存在)"),
        'wrong': (
            r"不是我(?:要的|想要的|想的|说的|的意思)", r"不是这个意思", r"(?:理解|弄|搞|改|写|删|看)错(?:了|地方|文件|位置)", r"还是不对(?!称|齐)"),
    },
    'ja': {
        'broken': (
            r"まだ、?(?:.{0,4}(?:が|は|も))?(?:エラー|動か|動き?ません|失敗|直って|壊れ|ダメ|だめ|駄目|同じ|できて(?:い)?(?:ない|ません)|うまく|おかし|バグ|出(?:ます|て"
            r"|る))(?!.{0,8}(?:場合|とき|時|なら|たら))", r"(?:直って|治って|解決して)い?(?:ない|ません)(?!.{0,4}(?:場合|とき|時|なら))"),
        'wrong': (
            r"そういう(?:意味|こと|つもり)(?:じゃ|では)(?:な|あり)", r"(?:頼んで|言って|お願いして|望んで)い?(?:ない|ません)(?:[。、!！よ]|$)"),
    },
    'ko': {
        'broken': (
            r"(?:아직도|여전히) (?:\S{1,8} )?(?:안 ?(?:돼|되|됩)|에러가|오류가|실패)(?!\S{0,3}(?:면|는(?!데)))",),
        'wrong': (
            r"(?:말한|원한|원하는|요청한) (?:게|것이|건) 아니", r"그런 뜻이? ?아니", r"잘못 이해"),
    },
    'es': {
        'broken': (
            r"\b(?:sigue|siguen|todavia|aun) (?:sin (?:funcionar|compilar|pasar)|fallando|falla\b|dando (?:el mismo )?error|rot[oa]"
            r"|no (?:funciona|compila|pasa|sirve|va\b)|igual\b|con el mismo|saliendo|apareciendo)",),
        'wrong': (
            r"\bno (?:es|era) (?:eso )?lo que (?:te )?(?:pedi|queria|dije|quiero|pido|necesit|quise)", r"\bno te pedi\b",
            r"\bmalinterpreta(?:s|ste|do)?\b"),
    },
    'de': {
        'broken': (
            r"\b(?:immer noch|noch immer|weiterhin|nach wie vor) (?:nicht\b|kaputt|(?:ein(?:en)? |der(?:selbe)? |den |die "
            r"|denselben )?(?:gleichen? )?fehler|falsch|rot\b|das(?:selbe|gleiche)? problem|fehlgeschlagen)",),
        'wrong': (
            r"\bnicht,? (?:das, )?was ich (?:wollte|meinte|gesagt|gefragt|will|gemeint|brauche)",
            r"\bhabe? ich nicht (?:gesagt|gemeint|verlangt|gewollt)", r"\b(?:falsch |miss)verstanden\b"),
    },
    'fr': {
        'broken': (
            r"\b(?:toujours|encore) (?:pas (?:bon|ca\b|corrige|regle|resolu)|la meme erreur|le meme (?:probleme|bug)|en erreur|casse"
            r"|une erreur|l'erreur|en echec)", r"\bne (?:marche|fonctionne|compile|passe) toujours pas\b",
            r"\b(?:marche|fonctionne) toujours pas\b"),
        'wrong': (
            r"\bpas ce que (?:j'ai|je|j')", r"\bmal compris\b", r"\bje n'ai (?:pas|jamais) (?:demande|dit)\b"),
    },
    'pt': {
        'broken': (
            r"\b(?:ainda|continua|continuam) (?:nao (?:funciona|passa|compila|esta|deu|ta\b)|(?:esta |ta )?falhando|falha\b"
            r"|com (?:o mesmo )?(?:erro|problema)|dando (?:o mesmo )?erro|quebrad[oa]|da erro|o mesmo erro|errado|sem funcionar)",),
        'wrong': (
            r"\bnao (?:e|era|foi) (?:isso|o) que (?:eu )?(?:te )?(?:pedi|queria|quis|disse|quero|preciso)", r"\bentendeu errado\b"),
    },
    'ru': {
        'broken': (
            r"\b(?:все еще|до сих пор|по-прежнему|по прежнему|все равно|опять|снова|так и) (?:\w+ ){0,2}?(?:не (?:работает"
            r"|компилируется|собирается|запускается|проход|исправ|помогло|заработал)|ошибк[аиу]\b|падает|падают|та же|то же|тот же"
            r"|сломан|валится|красн)",),
        'wrong': (
            r"\bне то,? (?:что|чего) я\b", r"\bя (?:не )?(?:это|этого) не просил", r"\bнеправильно (?:меня )?понял"),
    },
}

# One of these words stands in every marker of the languages in Latin letters: without one there is nothing to look for. The
# first ones stand in English markers alone.
ENGLISH_SIGNALS = (
    'actually', 'again', 'already', 'asked', 'back', 'breaks', 'broke', 'broken', 'crash', 'crashed', 'crashes', 'did', 'didn',
    'discard', 'doesn', 'don', 'explained', 'fail', 'failed', 'fails', 'forgot', 'ignored', 'isn', 'leave', 'mean', 'meant',
    'mentioned', 'misread', 'missed', 'misunderstand', 'misunderstood', 'nah', 'never', 'nope', 'not', 'overwrote', 'redo',
    'restore', 'rollback', 'said', 'same', 'scratch', 'skipped', 'still', 'times', 'told', 'undo', 'wasn', 'won', 'wrong', 'wrote')
SIGNALS = (
    'adicionar', 'ainda', 'alto', 'ancien', 'annule', 'annuler', 'annulez', 'arrete', 'arretez', 'attendez', 'attends', 'auf',
    'aufhoren', 'aun', 'basta', 'bau', 'calma', 'chega', 'comme', 'continua', 'continuam', 'criar', 'decir', 'defais', 'deja',
    'desfaca', 'desfaz', 'desfazer', 'deshacer', 'deshaz', 'deshazlo', 'detente', 'dicho', 'dije', 'disse', 'dreh', 'en',
    'encore', 'erneut', 'errado', 'espera', 'espere', 'est', 'esta', 'estaba', 'estas', 'etat', 'eu', 'falei', 'falsch',
    'falsche', 'faux', 'fazer', 'fehler', 'fehlermeldung', 'fois', 'gemeint', 'haben', 'halt', 'hast', 'hat', 'ich', 'incorrect',
    'incorrecto', 'isso', 'ja', 'je', 'laisse', 'lass', 'mach', 'mache', 'mal', 'malinterpreta', 'malinterpretado',
    'malinterpretas', 'malinterpretaste', 'meme', 'mencione', 'mesmo', 'mexer', 'mismo', 'missverstanden', 'mudar', 'nao', 'ne',
    'nee', 'nein', 'nicht', 'nimm', 'no', 'noch', 'nochmal', 'nochmals', 'non', 'nouveau', 'novamente', 'novo', 'nuevo',
    'olvidado', 'olvidaste', 'para', 'pare', 'pas', 'pedi', 'problem', 'put', 'quis', 'quita', 'recommence', 'reessay',
    'reessaye', 'reessayer', 'reessayez', 'refais', 'referia', 'refero', 'refiro', 'remet', 'remets', 'restaura', 'restaure',
    'retablis', 'revert', 'reverta', 'reverte', 'reverter', 'revertiere', 'revertieren', 'revertir', 'revierte', 'reviertelo',
    'rien', 'ruckgangig', 'rueckgaengig', 'setz', 'setze', 'sigue', 'siguen', 'stell', 'stelle', 'stop', 'stopp', 'te', 'todavia',
    'toujours', 'tu', 've', 'veces', 'versao', 'version', 'vez', 'vezes', 'voce', 'volta', 'voltar', 'volte', 'vous', 'vuelve',
    'warte', 'weiterhin', 'wie', 'ya', 'zuruck')

# Words that make what follows in the same sentence a case to be handled, not a report.
HYPOTHETICAL = (
    r"\b(?:if|when|whenever|while|whether|unless|until|in case|that (?:is|are)|which|who|whose|because|(?:check|explain"
    r"|find out|see|investigate|figure out) why|si|cuando|mientras|wenn|falls|sobald|ob|quand|lorsque|que|se|quando|caso"
    r"|enquanto|если|когда|пока|котор\w+)\b|如果|若|假如|假设|万一|一旦|当|为什么不|もし|만약|만일")
