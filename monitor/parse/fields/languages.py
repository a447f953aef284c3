"""What training loops call a step, a loss, a time in other languages than English, said in English.

Only words beside numbers matter: a report in Chinese is read as the same report in English is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# English -> the words of scripts that set no blanks between them; a name is put together of several: "平均|训练|损失".
_WITHOUT_BLANKS = {
    "loss": "损失函数值 损失函数 损失值 损失 損失 ロス 손실값 손실",
    "step": "训练步数 训练次数 步数 步骤 每步 单步 步 ステップ 스텝 단계",
    "iter": "迭代次数 迭代 イテレーション 반복",
    "batch": "批次 批 バッチ 배치",
    "epoch": "训练轮数 训练轮次 轮次 轮数 每轮 轮 世代 エポック 에포크 에폭",
    "episode": "回合 エピソード 에피소드",
    "lr": "学习率 學習率 学習率 학습률",
    "acc": "准确率 正确率 精度 准确度 正解率 정확도",
    "error": "误差 誤差",
    "reward": "奖励 報酬 보상",
    "grad norm": "梯度范数 勾配ノルム",
    "train": "训练 訓練 学習 훈련 학습",
    "validation": "验证集 验证 驗證 検証 검증",
    "evaluation": "评估 評価 평가",
    "test": "测试集 测试 測試 テスト 테스트",
    "avg": "平均 평균",
    "total": "总计 总 總 合計 총",
    "current": "当前 目前 現在 현재",
    "elapsed": "总耗时 总用时 已用时间 已耗时 已用时 累计时间 累计耗时 已用 経過時間 경과시간",
    "eta": "预计剩余时间 预计剩余 剩余时间 剩余 残り時間 남은시간",
    "time": "消耗时间 耗时 用时 时间 時間 所要時間 소요시간 시간",
    "throughput": "吞吐量 スループット 처리량",
    "speed": "速度 속도",
    "samples": "样本 サンプル 샘플",
    "gpu mem": "显存占用 显存",
    "ms": "毫秒 ミリ秒",
    "s": "秒钟 秒 초",
    "": "每 个 的",
}
# English -> words of scripts with blanks. What means something else in English is left out.
_WITH_BLANKS = {
    "loss": "verlust trainingsverlust perte pérdida perda perdita потери потеря лосс kayıp strata",
    "step": "schritt schritte étape etape paso passo шаг шага adım krok bước",
    "iteration": "iteración iteracion iteração iteracao itération iterazione итерация итерации",
    "batch": "lote батч батча",
    "epoch": "epoche época epoca époque épocas эпоха эпохи epoka",
    "time": "zeit tiempo tempo durée время süre czas",
    "duration": "dauer",
    "per": "pro",
    "eta": "осталось restzeit restant",
    "elapsed": "прошло",
    "speed": "скорость",
    "accuracy": "genauigkeit exactitud точность",
    "error": "ошибка",
    "precision": "précision précis precisión precisão",
    "train": "обучение обучения обучении entrenamiento treinamento entraînement treino",
    "validation": "проверка проверки валидация валидации validación validação",
}
_PHRASES = {
    "소요 시간": "소요시간",
    "경과 시간": "경과시간",
    "남은 시간": "남은시간",
    "thời gian": "süre",
    "mất mát": "kayıp",
}


def _by_foreign(table: dict[str, str]) -> dict[str, str]:
    return {word: english for english, words in table.items() for word in words.split()}


_GLUED, _APART = _by_foreign(_WITHOUT_BLANKS), _by_foreign(_WITH_BLANKS)
#: Those that may stand in lines of ASCII alone, which nobody translates; "pro" has a meaning in English, too.
IN_ASCII = {word: english for word, english in _APART.items() if word.isascii() and word != "pro"}
#: What an epoch is called in lines of ASCII.
EPOCHS = ("epoch", *(word for word, english in IN_ASCII.items() if english == "epoch"))


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


# Most of what is not ASCII are bars and frames; the scripts of these terms are looked for first.
_FOREIGN_LETTER = re.compile(r"[^\W\d_A-Za-z]")
_TERM = re.compile(rf"(?=[\u3040-\u9fff\uac00-\ud7a3])(?:{_any_of(_GLUED)})")
_TERMS = re.compile(f"(?:{_TERM.pattern})+")
_WORD = re.compile(r"[^\W\d_]+")
_SECONDS = re.compile(r"(?<=\d) ?(?:[秒초](?!\w)|(?:с|сек|секунд[аы]?|seg|giây)(?![^\W\d_]))")
_PHRASE = re.compile(_any_of(_PHRASES))
_SIGNS = str.maketrans("：，（）％＝｜【】", ":,()%=|[]")


def foreign(english: str) -> list[str]:
    """What ``english`` is called, as it is printed at the head of a sentence and within."""
    words = f"{_WITHOUT_BLANKS.get(english, '')} {_WITH_BLANKS.get(english, '')}".split()
    return sorted({form for word in words for form in (word, word.capitalize())})


def in_english(text: str) -> str:
    """``text`` with the words and signs of the reports in it as English and ASCII have them."""
    text = text.translate(_SIGNS)
    if _FOREIGN_LETTER.search(text) is None:
        return text
    text = _SECONDS.sub("s", _PHRASE.sub(lambda match: _PHRASES[match[0]], text))
    text = _WORD.sub(lambda match: _APART.get(match[0].lower(), match[0]), text)
    return _TERMS.sub(_said, text)


def _said(match: re.Match[str]) -> str:
    said = " ".join(english for term in _TERM.findall(match[0]) if (english := _GLUED[term]))
    before, behind = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    return f"{' ' * before.isalnum()}{said}{' ' * behind.isalnum()}"
