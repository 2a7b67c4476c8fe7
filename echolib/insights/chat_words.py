"""Words that say nothing about a subject, of the languages that chats are mostly in."""

STOP = frozenset((
    # English
    'the and you that for not have with this but are was just can all get what about will would from your they when out there like one has '
    'had been how its it\'s don\'t i\'m i\'ll you\'re that\'s can\'t also some then than now too very good well yes yeah okay here only because '
    'were where which who why did does doing done could should our his her him she them their these those more most much many any even still '
    'into over after before again really think know want need make see say said going got let lol haha hahaha thanks thank please sorry maybe '
    # German
    'und die der das ist nicht ich sie mit auf den für auch ein eine einen aber wir ihr was wie noch nur mal dann wenn oder schon hab habe hat '
    'haben kann bin bist sind war wird werden mir mich dir dich uns euch doch ja nein gut sehr hier dem des von bei zum zur '
    # French
    'les des une est pas que qui dans pour sur avec mais vous nous c\'est j\'ai je tu il elle on ils sont ont été être avoir plus tout bien oui '
    'non merci ça fait faire '
    # Spanish, Portuguese, Italian
    'que los las una por con para como pero más muy todo bien hay está esta este eso ese sí lo que no se te me mi tu su fue son não uma com '
    'para mais você isso foi muito também che non per una sono come anche più ma del della questo '
    # Russian
    'что это как так все она они мне меня тебя его нет был была если уже еще ещё только для есть просто вот там тут когда где или надо будет '
    'очень можно '
    # Chinese
    '我们 你们 他们 什么 怎么 可以 没有 不是 就是 一个 知道 这个 那个 现在 时候 因为 所以 但是 如果 还是 觉得 哈哈 哈哈哈 哈哈哈哈 好的 一下 已经 这样 那样 '
    '为什么 谢谢 图片 表情 '
    # Japanese, Korean
    '今日 そう です ます 그리고 그런데 진짜 오늘 있어 없어 그래 근데 나는 너무').split())
# With one of these at an end, characters that stand together are no word.
STOP_ENDS = frozenset('的了是我你他她它们這这那就都也很和与吗呢吧啊哦嗯呀么個个在不没有會会要能说說去来來到把被给給让讓对對从從而且或之其并')
