"""The named topics sessions are routed to: the user's topics.json in the data folder, else the built-in set."""
import json
import os
from collections import namedtuple

from ..base.errors import EchoError
from ..base.fold import tokens

# name: text; keywords: tuple of words and phrases, a `*` at the end stands for any ending; tools: tuple of tool names.
Topic = namedtuple('Topic', 'name keywords tools')

NAME = 'topics.json'
_MOST = 200

BUILT_IN = (
    ('debugging', "bug, bugs, fix, fixes, fixing, error*, exception*, crash*, fail*, broken, traceback, stack trace, segfault, panic, regression, "
                  "not working, doesn't work, does not work, stopped working, used to work, it worked, wrong result, typeerror, valueerror, "
                  "keyerror, nullpointerexception, flaky, hang, hangs, deadlock*, leak*, debug*, root cause, "
                  "why is, why does, why do, why are, timeout*, times out, slow, "
                  "报错, 错误, 异常, 崩溃, 失败, 修复, 修一下, 不工作, 不生效, 没反应, 卡死, 卡住, 排查, 调试, 定位问题, 泄漏, 溢出, 超时, 为什么会, 出错, 很慢, 太慢", ''),
    ('feature', "add, adds, adding, implement*, create, build the, build a, build an, build me, new feature, support for, please support, introduce, extend, integrate, "
                "feature, features, make it possible, wire up, 添加, 新增, 增加, 加一个, 加上, 实现, 开发, 功能, 支持, 做一个, 写一个, 接入, 集成", ''),
    ('refactor', "refactor*, clean up, cleanup, simplif*, rename*, extract*, restructur*, reorgani*, split, deduplicat*, duplicated, duplicate code, "
                 "dead code, unused, decoupl*, modulari*, tidy, move, get rid of, 重构, 整理, 简化, 重命名, 改名, 拆分, 拆成, 抽取, 提取, 抽成, 解耦, 清理, 去重, 重复代码", ''),
    ('review', "review*, pull request, pr, merge request, audit*, feedback, look over, code quality, check my, critique*, second opinion, "
               "审查, 评审, 审核, 检查一下, 看一下这段, 看看这段, 代码质量, 有没有问题, 走查", ''),
    ('docs', "document, documents, documentation, documenting, docs, readme, docstring*, changelog, comments, write up, guide, release notes, man page, "
             "reference page, wiki, typo*, 文档, 注释, 说明书, 说明文档, 更新日志, 手册, 使用说明, 错别字", ''),
    ('devops', "deploy*, docker*, dockerfile, container*, kubernetes, k8s, helm, terraform, ansible, ci, cd, pipeline*, github actions, jenkins, nginx, "
               "certificate*, tls, server, monitoring, alert*, backup*, rollback, roll back, release, infrastructure, aws, gcp, azure, cron, systemd, pod, pods, "
               "部署, 发布, 上线, 容器, 镜像, 流水线, 运维, 服务器, 监控, 告警, 备份, 回滚, 证书, 集群, 持续集成", ''),
    ('data', "dataset*, data set, data analysis, csv, tsv, excel, pandas, sql, query, queries, etl, dataframe*, analyse, analyze, analysis, chart*, plot, plots, "
             "histogram, statistic*, aggregat*, spreadsheet*, parquet, average, median, correlation, group by, rows, columns, "
             "数据, 分析, 统计, 报表, 图表, 查询, 表格, 清洗, 平均, 中位数, 汇总, 导出",
     'NotebookEdit'),
    ('research', "research, compare*, comparison, options, alternatives, evaluate, which library, which one, pros and cons, survey, find out, look up, "
                 "state of the art, best practice*, should we use, versus, vs, recommend*, what do others, "
                 "调研, 对比, 比较, 选型, 优缺点, 评估, 查一下, 查查, 搜一下, 有哪些, 推荐, 哪个好, 哪个更",
     'WebSearch, WebFetch, web_search, web_fetch, google_web_search, SearchWeb, FetchURL, search_web'),
    ('design', "design*, architect*, schema, ui, ux, layout, mockup*, wireframe*, proposal, plan, rfc, trade-off*, tradeoff*, diagram*, css, styling, color, colors, "
               "colour*, font*, data model, user flow, 设计, 架构, 方案, 界面, 布局, 样式, 原型, 规划, 配色, 模型设计, 交互", 'ExitPlanMode, exit_plan_mode'),
    ('learning', "explain*, how does, how do, how is, what is, what are, what does, teach, learn, learning, understand, tutorial, example of, difference between, "
                 "walk me through, beginner*, concept*, meaning of, 解释, 讲解, 讲讲, 学习, 是什么, 什么意思, 怎么理解, 原理, 入门, 教我, 区别, 为什么要, 看不懂, 举个例子", ''),
)


def built_in():
    """-> list of the built-in Topics."""
    return [Topic(name, _split(keywords), _split(tools)) for name, keywords, tools in BUILT_IN]


def _split(text):
    return tuple(one.strip() for one in text.split(',') if one.strip())


def load(folder):
    """-> (list of Topics, path of the file they are from or None for the built-in ones). folder: the data folder or None.

    Raises EchoError, with what is wrong and where, for a file that cannot be used.
    """
    path = os.path.join(folder, NAME) if folder else None
    if path is None or not os.path.lexists(path):
        return built_in(), None
    try:
        with open(path, encoding='utf-8-sig') as handle:
            data = json.load(handle)
    except OSError as error:
        raise EchoError('%s cannot be read: %s' % (path, error.strerror or error))
    except (ValueError, RecursionError) as error:
        raise EchoError('%s is no JSON (%s); correct it, or move it away to use the built-in topics' % (path, error))
    return _checked(path, data), path


def _checked(path, data):
    entries = data.get('topics') if isinstance(data, dict) else data
    if isinstance(entries, dict):
        entries = [dict(one, name=name) if isinstance(one, dict) else one for name, one in sorted(entries.items())]
    if not isinstance(entries, list) or not 1 <= len(entries) <= _MOST:
        raise EchoError('%s: "topics" must be a list of 1 to %d topics; a fresh file: move it away and run topic_classify.py --init' % (path, _MOST))
    out, names = [], set()
    for number, one in enumerate(entries, 1):
        name = one.get('name') if isinstance(one, dict) else None
        if not isinstance(name, str) or not name.strip() or name in names:
            raise EchoError('%s: topic %d needs a "name" of its own' % (path, number))
        lists = [one.get(key, []) for key in ('keywords', 'tools')]
        if not all(isinstance(words, list) and all(isinstance(word, str) for word in words) for words in lists):
            raise EchoError('%s: "keywords" and "tools" of topic %s must be lists of texts' % (path, name))
        if not any(tokens(word) for word in lists[0]) and not any(word.strip() for word in lists[1]):
            raise EchoError('%s: topic %s has neither keywords nor tools' % (path, name))
        names.add(name)
        out.append(Topic(name, tuple(lists[0]), tuple(word.strip() for word in lists[1] if word.strip())))
    return out


def write(folder):
    """Write the built-in topics to the data folder, never over a file; -> (path, True when it was written)."""
    if not folder:
        raise EchoError('there is no home folder to keep topics.json in; set SESSION_DIGGER_DATA_DIR')
    path = os.path.join(folder, NAME)
    text = json.dumps({'topics': [{'name': one.name, 'keywords': list(one.keywords), 'tools': list(one.tools)} for one in built_in()]},
                      ensure_ascii=False, indent=1) + '\n'
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path, False
    except OSError as error:
        raise EchoError('%s cannot be written: %s' % (path, error.strerror or error))
    with os.fdopen(number, 'w', encoding='utf-8') as handle:
        handle.write(text)
    return path, True
