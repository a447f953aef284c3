"""SageMaker's built-in algorithms (those on MXNet also print Speedometer lines, which ``mxnet`` reads).

- ``#progress_notice. epoch: 1, iterations: 20 speed: 56.1 samples/sec learning_rate: 0.000089`` (semantic segmentation):
  samples/s over the last iterations. Without learning_rate the same line is of the validation.
- ``Epoch:    0, batches:    100, num_examples:   3200, 103.5 samples/sec, epoch time so far:  0:00:30.9`` (object
  detection): samples/s since the epoch's start.
- ``#quality_metric: host=algo-1, epoch=0, batch=500 train rmse <loss>=1.2`` and the same without a batch for the whole
  epoch, where step is the epoch's number (linear learner, factorization machines, DeepAR, k-means, NTM …): the objective
  only, of the many scores that some print.
- ``#throughput_metric: host=algo-1, train throughput=1234.5 records/second``: mean of an epoch.
- ``##### Alpha: 0.0489  Progress: 2.18%  Million Words/sec: 2.36 #####`` (BlazingText).

None tells how long a step took. Not read: ``#throughput_metric.`` and ``#quality_metric.`` of semantic segmentation and
object detection (with a full stop: sums over what other lines said), ``#progress_metric`` (a share of the epochs), and the
``#metrics`` JSON, whose update.time is milliseconds of an EPOCH.
"""

from monitor.parse.family import Line, no_step

GATES = ("#progress_notice", "epoch time so far", "#quality_metric:", "#throughput_metric:", "Million Words/sec: ")
_QUALITY = (
    r"#quality_metric: host=[\w.-]{1,80}, epoch=%s train"
    r" (?:\w{0,80}objective|(?:total_)?loss|\w{0,60}cross_entropy|rmse|msd) \<loss>=<loss>"
)
LINES = (
    Line(
        "sagemaker-builtin",
        r"#progress_notice\. epoch: <epoch>, iterations: <step> speed: <rate> samples/sec learning_rate: ",
        unit="samples/s",
        meaning="interval",
    ),
    Line(
        "sagemaker-builtin",
        r"\bEpoch:\s{0,9}<epoch>, batches:\s{0,15}<step>, num_examples:\s{0,15}\d{1,15}, <rate> samples/sec,"
        r" epoch time so far",
        unit="samples/s",
        meaning="running-mean",
    ),
    Line("sagemaker-builtin-loss", _QUALITY % "<epoch>, batch=<step>", meaning="interval"),
    Line("sagemaker-builtin-epoch", _QUALITY % "(?P<epoch><step>),", meaning="interval"),
    Line(
        "sagemaker-builtin-throughput",
        r"#throughput_metric: host=[\w.-]{1,80}, train throughput=<rate> records/second",
        unit="records/s",
        meaning="interval",
    ),
    Line(
        "sagemaker-builtin",
        r"##### Alpha: [\d.-]{1,20}\s{1,4}Progress: [\d.]{1,9}%\s{1,4}Million Words/sec: <rate>",
        unit="million words/s",
        meaning="interval",
    ),
    no_step(r"#(?:progress_notice|quality_metric|throughput_metric)\b"),
)
