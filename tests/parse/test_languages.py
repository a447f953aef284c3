"""Reports in other languages than English are read as the same reports in English are."""

from __future__ import annotations

import pytest

from monitor.parse.fields.languages import foreign, in_english
from monitor.parse.strangers.labels import teller
from tests.parse.read import parse

STEPS = range(1, 61)
REPORTS = [
    "轮次 {epoch}/3, 步数 {step}/60, 损失: {loss}, 学习率: 1.0e-04, 耗时: {time}秒",
    "[训练] Epoch {epoch} 步骤 {step}/60 | 训练损失 {loss} | 准确率 0.5{epoch} | 用时 {time}s",
    "第{epoch}轮 第{step}步 损失={loss} 每步时间={time}s",
    "迭代: {step}, 总损失: {loss}, 时间: {time}",
    "Epoch [{epoch}/3], 批次 [{step}/60], 平均损失: {loss}, 速度: {rate} it/s",
    "训练步数: {step} | 当前损失: {loss} | 梯度范数: 0.8 | 每步耗时: {time} 秒",
    "【训练】第 {epoch} 轮，批次 {step}/60，损失：{loss}，学习率：0.0001，用时：{time}秒",
    "エポック {epoch}/3 ステップ {step}/60 損失: {loss} 時間: {time}秒",
    "ステップ {step}: 損失 = {loss}, 学習率 = 1e-4, {time} 秒/ステップ",
    "エポック: {epoch}, バッチ: {step}/60, 訓練損失: {loss}, 所要時間: {time}s",
    "에포크 {epoch}/3 스텝 {step}/60 손실: {loss} 시간: {time}초",
    "배치 {step}/60 | 손실 {loss} | 정확도 0.8{epoch} | 소요 시간 {time}초",
    "Epoch {epoch} 단계 {step}/60 학습 손실: {loss} 소요시간: {time}s",
    "Época {epoch}/3, paso {step}/60, pérdida: {loss}, tiempo: {time} s",
    "Iteración {step} - Pérdida {loss} - precisión 0.8{epoch} - {time} s/iteración",
    "Época {epoch}/3 | Passo {step}/60 | Perda: {loss} | Tempo: {time}s",
    "Iteração {step}: perda de treino {loss} (tempo por passo: {time} s)",
    "Époque {epoch}/3, étape {step}/60, perte : {loss}, durée : {time} s",
    "Epoche {epoch}/3, Schritt {step}/60, Verlust: {loss}, Zeit: {time} s",
    "Iteration {step}: Verlust {loss}, Dauer {time} s",
    "Эпоха {epoch}/3, шаг {step}/60, потери: {loss}, время: {time} с",
    "Итерация {step} | потеря {loss} | время шага {time} сек",
    "Epoca {epoch}/3, passo {step}/60, perdita: {loss}, tempo: {time} s",
    "Dönem {epoch}/3, adım {step}/60, kayıp: {loss}, süre: {time} s",
    "Epoch {epoch}/3, bước {step}/60, mất mát: {loss}, thời gian: {time}s",
    "Epoka {epoch}/3, krok {step}/60, strata: {loss}, czas: {time} s",
    "Epoch {epoch} Step {step} 损失 {loss} 耗时 {time}s",
    "Epoch {epoch}/3 Batch {step}/60 训练损失: {loss} 验证损失: 2.0 耗时: {time}s",
    "Step {step}/60 손실: {loss} 시간: {time}s",
]
# What has words enough that readers know is not learned.
IN_ENGLISH = ("Batch", "Step", "Epoch [", "s/iteración", "Iteration", "Verlust")


def lines(report: str) -> list[str]:
    """Three epochs, of which each step takes 1.73 to 1.75 s."""
    printed = []
    for epoch in (1, 2, 3):
        for step in STEPS:
            loss, time_s = 3 / (step + 60 * epoch), 1.73 + 0.01 * (step % 3)
            printed.append(report.format(epoch=epoch, step=step, loss=f"{loss:.4f}", time=f"{time_s:.2f}", rate="0.57"))
    return printed


@pytest.mark.parametrize("report", REPORTS)
def test_step_loss_and_time_are_read(report: str) -> None:
    read = parse(lines(report))
    assert read.steps["step"].tolist() == [*STEPS] * 3
    assert read.steps["loss"].iloc[0] == pytest.approx(3 / 61, abs=1e-4)
    assert read.steps["step_time_s"].median() == pytest.approx(1.74, rel=0.02)


@pytest.mark.parametrize("report", [report for report in REPORTS if not any(word in report for word in IN_ENGLISH)])
def test_what_was_learned_tells_the_line_as_it_is_printed(report: str) -> None:
    printed = lines(report)
    told = teller(parse(printed).learned)(printed[-1])
    assert told.startswith("step 60 · loss 0.0125")


@pytest.mark.parametrize(
    ("printed", "english"),
    [
        ("验证损失: 0.5", "validation loss: 0.5"),
        ("训练的平均损失为0.5", "train avg loss 为0.5"),
        ("步3", "step 3"),
        ("2分20秒", "2分20s"),
        ("época passo", "epoch step"),
        ("passou 3 bytes", "passou 3 bytes"),
    ],
)
def test_a_name_of_several_words_stays_one(printed: str, english: str) -> None:
    assert in_english(printed) == english


def test_a_word_is_looked_for_as_sentences_begin_with_it() -> None:
    assert {"потери", "Потери"} <= set(foreign("loss"))
    assert foreign("no such word") == []


@pytest.mark.parametrize(
    "line",
    [
        "验证 第{n}步 损失: 0.{n} 耗时: 1.2秒",
        "测试集 批次 {n}/60 损失: 0.{n}",
        "下载进度 {n}/60 速度: 3.{n} MB/s 剩余时间: 0:00:{n}",
        "検証 ステップ {n} 損失: 0.{n}",
        "검증 배치 {n}/60 손실: 0.{n}",
    ],
)
def test_evaluations_and_downloads_are_none_in_any_language(line: str) -> None:
    assert parse([line.format(n=n) for n in range(10, 60)]).steps.empty
