"""Recomputes the statistics of looptape eval from raw rows, without any code or value of looptape.

It reads a set per line of standard input, and writes its statistics on a line, with the members of the JSON of
the command. A statistic that the command draws at random is "random". Values are decimal fractions and stay exact
as long as a formula is rational. The formulas are from the sources that docs/statistics.md names. What these
sources leave open follows that page:

- a mean is over cases, each with the mean of its runs; a case is a cluster unless its rows name another one;
- Wilson's interval has n = 1+m(1-m)/SE^2 trials for clusters, at most the number of runs if all scores are 0 or
  1, and then times the squared ratio of the quantiles of t, if it is below 1; without variance it has a trial
  for each cluster. Tango's interval has the same with the variance of a pair for m(1-m);
- permutations are random if there are more than 9,999, except for scores of two values within cases;
- a case regressed if more than half of its runs pass in the base, and fewer than half in the new set;
- McNemar's test is for single runs of independent cases; where it is valid it is corrected and planned for;
- required numbers of cases assume clusters as large as the present ones.
"""

import functools
import itertools
import json
import math
import sys
from collections import Counter, defaultdict
from fractions import Fraction

from mpmath import mp, mpf

mp.dps = 25
TAIL = mpf("0.025")
RESAMPLES = 9999
MOST_CASES = 1_000_000
RANDOM = "random"


# Distributions.


@functools.lru_cache(maxsize=None)
def normal_quantile(tail):
    """The value that a standard normal exceeds with this probability."""
    return mp.sqrt(2) * mp.erfinv(1 - 2 * mpf(tail))


def t_tail(t, df):
    """The probability that Student's t exceeds t > 0."""
    y = t * t / (df + t * t)
    if y < 0.5:
        return (1 - mp.betainc(0.5, df / 2, 0, y, regularized=True)) / 2
    return mp.betainc(df / 2, 0.5, 0, 1 - y, regularized=True) / 2


@functools.lru_cache(maxsize=None)
def t_quantile(df, tail=TAIL):
    """The value that Student's t exceeds with this probability: Newton's method for log of the tail."""
    df, tail = mpf(df), mpf(tail)
    z = normal_quantile(tail)
    t = z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
    scale = mp.gamma((df + 1) / 2) / (mp.sqrt(df * mp.pi) * mp.gamma(df / 2))
    for _ in range(60):
        p = t_tail(t, df)
        density = scale * (1 + t * t / df) ** (-(df + 1) / 2)
        step = mp.log(p / tail) * p / density
        t = t + step if t + step > 0 else t / 2
        if abs(step) < mpf(10) ** -14 * t:
            return t
    raise ArithmeticError(f"quantile of t with {df} degrees of freedom")


# Nodes and weights of Gauss and Legendre on [-1, 1].
@functools.lru_cache(maxsize=None)
def legendre(n):
    nodes = []
    for i in range(1, n + 1):
        x = math.cos(math.pi * (i - 0.25) / (n + 0.5))
        for _ in range(9):
            p, before = x, 1.0
            for k in range(2, n + 1):
                p, before = ((2 * k - 1) * x * p - (k - 1) * before) / k, p
            slope = n * (x * p - before) / (x * x - 1)
            x -= p / slope
        nodes.append((x, 2 / ((1 - x * x) * slope * slope)))
    return nodes


@functools.lru_cache(maxsize=None)
def chi(df):
    """Values s of sqrt(chi^2/df) and their weights, for integrals over the distribution of s."""
    deviation = 1 / math.sqrt(2 * df)
    low, high = max(0.0, 1 - 9 * deviation), 1 + 9 * deviation
    log_scale = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    parts = 4
    width = (high - low) / parts
    points = []
    for part, (x, w) in itertools.product(range(parts), legendre(40)):
        s = low + width * (part + (x + 1) / 2)
        points.append((s, w * width / 2 * math.exp(log_scale + (df - 1) * math.log(s) - df * s * s / 2)))
    whole = math.fsum(w for _, w in points)
    return [(s, w / whole) for s, w in points]


def t_power(df, noncentrality, alpha):
    """The probability that noncentral t exceeds the two-sided critical value of t."""
    critical = float(t_quantile(df, alpha / 2))
    return math.fsum(w * math.erfc((critical * s - noncentrality) / math.sqrt(2)) / 2 for s, w in chi(df))


def zero(f, low, high):
    """A zero of f between two values of different signs, by steps of the Illinois method and of bisection."""
    f_low, f_high = f(low), f(high)
    for i in range(200):
        x = (low + high) / 2 if i % 3 == 2 else (low * f_high - high * f_low) / (f_high - f_low)
        f_x = f(x)
        if f_x == 0 or abs(high - low) < 1e-14 * max(1, abs(x)):
            return x
        if (f_x < 0) == (f_high < 0):
            high, f_high, f_low = x, f_x, f_low / 2
        else:
            low, f_low, f_high = x, f_x, f_high / 2
    raise ArithmeticError(f"zero between {low} and {high}")


# Samples: lists of (case, cluster, value).


def mean(values):
    values = list(values)
    return sum(values, Fraction(0)) / len(values)


def root(x):
    return mp.sqrt(number(x))


def number(x):
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


def by(rows, column):
    groups = defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return groups


def case_means(rows):
    return [(case, runs[0][1], mean(r[2] for r in runs)) for case, runs in by(rows, 0).items()]


def squares(rows):
    """The sum over clusters of the squared sum of the distances from the mean (Liang & Zeger)."""
    middle = mean(r[2] for r in rows)
    return sum((sum(r[2] - middle for r in cluster) ** 2 for cluster in by(rows, 1).values()), Fraction(0))


def cluster_variance(rows):
    """The squared standard error of the mean, corrected for few clusters, or None."""
    clusters = len(by(rows, 1))
    if clusters < 2:
        return None
    return squares(rows) / len(rows) ** 2 * Fraction(clusters, clusters - 1)


def binary(rows):
    return all(r[2] in (0, 1) for r in rows)


def rates(rows):
    return all(0 <= r[2] <= 1 for r in rows)


def t_interval(rows):
    variance = cluster_variance(rows)
    if variance is None:
        return None
    middle = number(mean(r[2] for r in rows))
    half = t_quantile(len(by(rows, 1)) - 1) * root(variance) if variance else 0
    return [middle - half, middle + half]


def effective(variance_of_one, variance_of_mean, clusters, runs):
    """The effective number of trials (Korn & Graubard); runs is None without a limit."""
    if variance_of_one == 0:
        return mpf(clusters)
    n = mp.inf if variance_of_mean == 0 else 1 + number(variance_of_one / variance_of_mean)
    if runs is not None:
        n = min(n, mpf(runs))
    if n <= clusters:  # the quantile falls with the degrees of freedom
        return n
    quantile = normal_quantile(TAIL) if n > 1e12 else t_quantile(n - 1)
    ratio = (quantile / t_quantile(clusters - 1)) ** 2
    return n if mp.isinf(n) else 1 + (n - 1) * ratio


def wilson(p, n):
    """Both roots x of (p-x)^2 = z^2 x(1-x)/n (Wilson)."""
    p = number(p)
    if mp.isinf(n):
        return [p, p]
    z2 = normal_quantile(TAIL) ** 2
    middle, half = p + z2 / (2 * n), normal_quantile(TAIL) * mp.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return [(middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)]


def rate_interval(rows, runs):
    """Wilson's interval of the mean of one row for each case, computed from this number of runs."""
    variance = cluster_variance(rows)
    if variance is None or not rates(rows):
        return None
    m = mean(r[2] for r in rows)
    return wilson(m, effective(m * (1 - m), variance, len(by(rows, 1)), runs))


def pass_at(rows, k, every):
    """The share of all ways to draw k runs of a case of which one, or every one, passes."""
    list_ = []
    for case, runs in by(rows, 0).items():
        n, c = len(runs), sum(int(r[2]) for r in runs)
        chosen = math.comb(c, k) if every else math.comb(n, k) - math.comb(n - c, k)
        list_.append((case, runs[0][1], Fraction(chosen, math.comb(n, k))))
    return list_


# looptape eval score.


def scored(rows, metric):
    return [(r["case"], r.get("cluster") or r["case"], Fraction(r[metric])) for r in rows if isinstance(r.get(metric), (int, Fraction))]


def unscored(rows, metric):
    failed = sum(isinstance(r.get(metric), str) for r in rows)
    return sum(r.get(metric) is None for r in rows), failed


def metrics(*sets):
    return sorted({name for rows in sets for r in rows for name in r if name.startswith("m") and r[name] is not None})


def score(rows):
    names = metrics(rows)
    out = {metric: score_metric(rows, metric) for metric in names}
    for metric in names:
        if out[metric]["n"] and {metric + ".first", metric + ".split"} <= set(names):
            add_pairs(out[metric], scored(rows, metric))
    return out


def add_pairs(out, rows):
    """Wins, ties and losses by case, a test against one half, and the interval of wins less losses."""
    d = [(case, cluster, value - Fraction(1, 2)) for case, cluster, value in case_means(rows)]
    wins, losses = sum(r[2] > 0 for r in d), sum(r[2] < 0 for r in d)
    single = len(rows) == len(d) == len(by(d, 1))
    p = mcnemar(losses, wins)[1] if single else sign_flip(d)
    out["pairwise"] = {"wins": wins, "ties": len(d) - wins - losses, "losses": losses, "p_half": p}
    lost, won = ([(case, cluster, max(0, sign * 2 * v)) for case, cluster, v in d] for sign in (-1, 1))
    interval = tango(lost, won)
    if interval:
        out["ci95"]["pairs"] = [(1 + x) / 2 for x in interval]


# The labels of people.


def agreements(rows, labels):
    return {metric: agreement(rows, metric, [r for r in labels if r["metric"] == metric]) for metric in sorted({r["metric"] for r in labels})}


def agreement(rows, metric, labels):
    label = {(r["case"], r["epoch"]): Fraction(r["label"]) for r in labels}
    items = []  # case, cluster, score, label or None
    for r in rows:
        if isinstance(r.get(metric), (int, Fraction)):
            items.append((r["case"], r.get("cluster"), Fraction(r[metric]), label.get((r["case"], r["epoch"]))))
    both = [r for r in items if r[3] is not None]
    out = dict.fromkeys(("agree", "agree_ci95", "values", "counts", "kappa", "kappa_ci95", "corrected_mean", "corrected_mean_ci95"))
    out["labels"] = len(both)
    if len(both) < len(label):
        out["unscored"] = len(label) - len(both)
    if not both:
        return out
    agree = [(case, cluster or case, Fraction(score == person)) for case, cluster, score, person in both]
    out["agree"] = mean(r[2] for r in case_means(agree))
    out["agree_ci95"] = rate_interval(case_means(agree), len(agree))
    values = sorted({x for r in both for x in r[2:]})
    if len(values) <= 20:
        out["values"] = values
        pairs = Counter((r[2], r[3]) for r in both)
        out["counts"] = [[pairs[i, j] for j in values] for i in values]
        independent = len(by(agree, 1)) == len(agree) >= 30
        out["kappa"], out["kappa_ci95"] = kappa(pairs, values, len(both), independent)
    if all(x in (0, 1) for r in items for x in r[2:] if x is not None):
        out["corrected_mean"], out["corrected_mean_ci95"] = corrected(items)
    return out


def kappa(pairs, values, n, independent):
    """Cohen's kappa, with the variance as Fleiss, Cohen and Everitt write it."""
    p = {key: Fraction(c, n) for key, c in pairs.items()}
    row = {v: sum(p.get((v, w), 0) for w in values) for v in values}
    column = {v: sum(p.get((w, v), 0) for w in values) for v in values}
    po, pe = sum(p.get((v, v), 0) for v in values), sum(row[v] * column[v] for v in values)
    if pe == 1:
        return None, None
    k = (po - pe) / (1 - pe)
    if not independent:
        return k, None
    diagonal = sum(p.get((v, v), 0) * ((1 - pe) - (row[v] + column[v]) * (1 - po)) ** 2 for v in values)
    rest = sum(p.get((v, w), 0) * (column[v] + row[w]) ** 2 for v in values for w in values if v != w)
    variance = (diagonal + (1 - po) ** 2 * rest - (po * pe - 2 * pe + po) ** 2) / (n * (1 - pe) ** 4)
    half = normal_quantile(TAIL) * root(max(variance, 0))
    return k, [max(mpf(-1), number(k) - half), min(mpf(1), number(k) + half)]


def corrected(items):
    """The rate by labels of some items (Tenenbein), with the interval of Zou, Huang and Zhang."""
    runs = Counter(r[0] for r in items)
    weight = {case: Fraction(1, n) for case, n in runs.items()}

    def share(chosen, positive):
        chosen = list(chosen)
        total = sum(weight[r[0]] for r in chosen)
        return total and sum(weight[r[0]] for r in chosen if positive(r)) / total, total, sum(weight[r[0]] ** 2 for r in chosen)

    grades, labels = (lambda r: r[2] == 1), (lambda r: r[3] == 1)
    pi = share(items, grades)
    of = [share((r for r in items if r[2] == g and r[3] is not None), labels) for g in (0, 1)]
    if of[0][1] == 0 and pi[0] < 1 or of[1][1] == 0 and pi[0] > 0:
        return None, None
    a, b = of[1][0], of[0][0]
    rate = pi[0] * a + (1 - pi[0]) * b
    sums, squared = defaultdict(Fraction), Fraction(0)
    for i, r in enumerate(items):
        w, g = weight[r[0]], int(r[2])
        u = (a - b) * w * (r[2] - pi[0]) / pi[1]
        if r[3] is not None:
            u += (pi[0] if g else 1 - pi[0]) * w * (r[3] - of[g][0]) / of[g][1]
        squared += u * u
        sums[("cluster", r[1]) if r[1] else ("case", r[0])] += u
    clusters = len(sums)
    if clusters == len(items):
        ratio = Fraction(1)
    elif squared == 0:
        ratio = Fraction(len(items), clusters)
    elif clusters == 1:
        ratio = Fraction(len(items))
    else:
        ratio = max(Fraction(1), Fraction(clusters, clusters - 1) * sum(s * s for s in sums.values()) / squared)
    low, high = mpf(0), mpf(0)
    for factor, (p, total, squares_) in ((a - b, pi), (pi[0], of[1]), (1 - pi[0], of[0])):
        if total == 0:
            continue
        ends = sorted(number(factor) * (x - number(p)) for x in wilson(p, number(total * total / squares_ / ratio)))
        low, high = low + ends[0] ** 2, high + ends[1] ** 2
    return rate, [max(mpf(0), number(rate) - mp.sqrt(low)), min(mpf(1), number(rate) + mp.sqrt(high))]


def score_metric(all_rows, metric):
    rows = scored(all_rows, metric)
    missing, errors = unscored(all_rows, metric)
    out = {"n": len(rows), "mean": None, "se": None, "ci95": {"wilson": None, "t": None}, "pass_hat_k": None, "pass_at_k": None, "missing": missing, "errors": errors}
    out["mean_of_runs"] = dict.fromkeys(("value", "se_naive", "se_cluster_cr0", "se_cluster", "wilson"))
    if not rows:
        return out
    cases = case_means(rows)
    variance = cluster_variance(cases)
    runs = len(rows) if binary(rows) else None
    out["mean"] = mean(r[2] for r in cases)
    out["se"] = None if variance is None else root(variance)
    wilson_interval = rate_interval(cases, runs) if rates(rows) else None
    out["ci95"] = {"wilson": wilson_interval, "t": t_interval(cases)}
    if wilson_interval:
        out["ci95"]["unsuited_for_rates"] = ["t", "bootstrap"]
    out["mean_of_runs"] = mean_of_runs(rows)
    if binary(rows):
        ks = range(1, min(len(runs) for runs in by(rows, 0).values()) + 1)
        for name, every in (("pass_hat_k", True), ("pass_at_k", False)):
            samples = [pass_at(rows, k, every) for k in ks]
            out[name] = [mean(r[2] for r in s) for s in samples]
            out["ci95"][name] = [rate_interval(s, runs) for s in samples]
    return out


def mean_of_runs(rows):
    n, clusters = len(rows), len(by(rows, 1))
    m = mean(r[2] for r in rows)
    out = {"value": m, "se_naive": None, "se_cluster_cr0": None, "se_cluster": None}
    if n > 1:
        out["se_naive"] = root(sum((r[2] - m) ** 2 for r in rows) / (n - 1) / n)
    if clusters > 1:
        out["se_cluster_cr0"] = root(squares(rows)) / n
        out["se_cluster"] = root(cluster_variance(rows))
    out["wilson"] = wilson(m, mpf(n)) if binary(rows) else None
    return out


# looptape eval compare.


def common(base, new, metric):
    """The scored rows of the cases with a score in both sets."""
    b, n = scored(base, metric), scored(new, metric)
    cases = {r[0] for r in b} & {r[0] for r in n}
    return [r for r in b if r[0] in cases], [r for r in n if r[0] in cases]


def difference(base, new):
    after = {r[0]: r[2] for r in case_means(new)}
    return [(case, cluster, after[case] - value) for case, cluster, value in case_means(base)]


def tango(base, new):
    """The differences from which the observed one is z standard errors away (Tango)."""
    d = difference(base, new)
    variance = cluster_variance(d)
    if variance is None or not rates(base + new):
        return None
    after = {r[0]: r[2] for r in case_means(new)}
    pairs = [(value, after[case]) for case, _, value in case_means(base)]
    lost, won = mean(a * (1 - b) for a, b in pairs), mean(b * (1 - a) for a, b in pairs)
    runs = [len(s) for s in (base, new) if binary(s)]
    n = effective(lost + won - (won - lost) ** 2, variance, len(by(d, 1)), min(runs, default=None))
    lost, won = number(lost), number(won)
    observed = won - lost
    if mp.isinf(n):
        return [observed, observed]

    def excess(delta):
        # The derivative of lost*log(q) + won*log(q+delta) + (1-lost-won)*log(1-2q-delta) is 0 at the most
        # likely q: 2q^2 - bq - c = 0.
        b, c = lost * (1 - delta) + won * (1 + delta) - 2 * delta, lost * delta * (1 - delta)
        q = (b + mp.sqrt(max(0, b * b + 8 * c))) / 4
        # Squared distance less z^2 variances, which is continuous where the variance is 0.
        return (observed - delta) ** 2 * n - normal_quantile(TAIL) ** 2 * (2 * q + delta * (1 - delta))

    return [edge(excess, observed, mpf(-1)), edge(excess, observed, mpf(1))]


def edge(excess, inside, outside):
    """The point between both from which on excess is above 0."""
    if excess(outside) <= 0:
        return outside
    start = inside + (outside - inside) * mpf(10) ** -14
    return inside if excess(start) > 0 else zero(excess, start, outside)


def newcombe(c1, n1, c2, n2):
    """The interval of c2/n2 - c1/n1 (Newcombe, method 10)."""
    p1, p2 = mpf(c1) / n1, mpf(c2) / n2
    (l1, u1), (l2, u2) = wilson(p1, mpf(n1)), wilson(p2, mpf(n2))
    return [p2 - p1 - mp.sqrt((p2 - l2) ** 2 + (u1 - p1) ** 2), p2 - p1 + mp.sqrt((u2 - p2) ** 2 + (p1 - l1) ** 2)]


def mcnemar(b, c):
    n, fewer = b + c, min(b, c)
    tail = sum(math.comb(n, i) for i in range(fewer + 1))
    exact = Fraction(2 * tail, 2**n)
    return min(Fraction(1), exact), exact - Fraction(math.comb(n, fewer), 2**n)


def sign_flip(d):
    sums = [s for s in (sum(r[2] for r in rows) for rows in by(d, 1).values()) if s]
    if 2 ** len(sums) > RESAMPLES:
        return RANDOM
    ways = Counter({Fraction(0): 1})
    for s in sums:
        step = Counter()
        for total, n in ways.items():
            step[total + s] += n
            step[total - s] += n
        ways = step
    bound = abs(sum(sums))
    return Fraction(sum(n for total, n in ways.items() if abs(total) >= bound), 2 ** len(sums))


def holm(p):
    """The smallest level at which Holm's procedure rejects each hypothesis."""
    if RANDOM in p.values():
        return {name: RANDOM for name in p}
    out = {}
    for name, value in p.items():
        # It is rejected at a level if it and all smaller ones are.
        before = sorted(v for v in p.values() if v <= value)
        out[name] = min(Fraction(1), max((len(p) - i) * v for i, v in enumerate(before)))
    return out


def mcnemar_valid(base, new):
    return binary(base + new) and len(by(base, 1)) == len(base) == len(new)


def changes(base, new):
    """The cases whose mean changed, for the worse and for the better."""
    before, after = by(base, 0), by(new, 0)
    worse, better = [], []
    for case, runs in before.items():
        a, b = [r[2] for r in runs], [r[2] for r in after[case]]
        change = mean(b) - mean(a)
        if change == 0:
            continue
        interval = newcombe(int(sum(a)), len(a), int(sum(b)), len(b)) if binary(base + new) else None
        (worse if change < 0 else better).append(
            {"case": case, "base": mean(a), "new": mean(b), "base_runs": len(a), "new_runs": len(b), "difference": change, "ci95": interval}
        )
    return worse, better


def compare(base, new):
    out, p = {}, {}
    for metric in metrics(base, new):
        out[metric] = compare_metric(base, new, metric)
        ps = out[metric]["p"]
        best = ps["mcnemar_mid_p"] if ps["mcnemar_mid_p"] is not None else ps["permutation"]
        if best is not None:
            p[metric] = best
    for metric, value in holm(p).items():
        out[metric]["p"]["holm"] = value
    return out


def compare_metric(all_base, all_new, metric):
    base, new = common(all_base, all_new, metric)
    sets = [unscored(all_base, metric), unscored(all_new, metric)]
    out = dict.fromkeys(("base", "new", "difference", "discordant"))
    out |= {"pairs": 0, "se": {"paired": None, "unpaired": None}, "ci95": {"tango": None, "t": None}, "regressed": [], "fixed": [], "worse": [], "better": []}
    out |= {name: {"base": sets[0][i], "new": sets[1][i]} for i, name in enumerate(("missing", "errors"))}
    out["p"] = dict.fromkeys(("mcnemar_mid_p", "mcnemar_exact", "permutation", "holm"))
    if not base:
        return out
    d = difference(base, new)
    before, after = case_means(base), case_means(new)
    out |= {"pairs": len(d), "base": mean(r[2] for r in before), "new": mean(r[2] for r in after), "difference": mean(r[2] for r in d)}
    paired, single = cluster_variance(d), [cluster_variance(before), cluster_variance(after)]
    out["se"]["paired"] = None if paired is None else root(paired)
    if None not in single and sum(single) > 0:
        out["se"]["unpaired"] = root(sum(single))
    out["ci95"] = {"tango": tango(base, new), "t": t_interval(d)}
    if out["ci95"]["tango"]:
        out["ci95"]["unsuited_for_rates"] = ["t"]
    out["p"]["permutation"] = sign_flip(d)
    if binary(base + new):
        out["worse"], out["better"] = changes(base, new)
        half = Fraction(1, 2)
        was = {r[0]: r[2] for r in before}
        out["regressed"] = sorted(r[0] for r in after if was[r[0]] > half > r[2])
        out["fixed"] = sorted(r[0] for r in after if was[r[0]] < half < r[2])
        out["discordant"] = {"only_base": len(out["regressed"]), "only_new": len(out["fixed"])}
        if mcnemar_valid(base, new):
            out["p"]["mcnemar_exact"], out["p"]["mcnemar_mid_p"] = mcnemar(len(out["regressed"]), len(out["fixed"]))
    return out


# looptape eval gate.


def gate(base, new, lower, comparison, limits):
    out, p = {}, {}
    for metric, c in comparison.items():
        out[metric] = gate_metric(base, new, metric, metric in lower, c)
        if out[metric]["p"] is not None:
            alpha = Fraction(limits["alpha"]) / len(comparison)
            out[metric] |= gate_power(*common(base, new, metric), metric in lower, alpha, limits["detect"], limits["drop"])
        if out[metric]["p"] is not None:
            p[metric] = out[metric]["p"]
    for metric, value in holm(p).items():
        out[metric]["holm"] = value
    return out


def gate_metric(all_base, all_new, metric, lower, c):
    out = {name: c[name] for name in ("pairs", "base", "new", "difference")}
    out |= {"ci95": c["ci95"]["tango"] or c["ci95"]["t"], "p": None, "holm": None, "missing": c["missing"]["new"]}
    base, new = common(all_base, all_new, metric)
    if not base:
        return out
    declined = changes(base, new)[1 if lower else 0]
    if declined:
        out["worse"] = declined
    p, out["test"] = within(base, new, lower)
    out["p"] = p if out["difference"] * (1 if lower else -1) > 0 else Fraction(1)
    return out


OUTCOMES = 20_000  # most results of a gate that are enumerated


def gate_power(base, new, lower, alpha, detect, least):
    """The probability that the gate finds a drop, from all numbers of successes that the cases can have. The rate of a
    case has the beta distribution that its runs in the base leave, and a drop reduces all rates in proportion."""
    out = {"smallest_drop": RANDOM}
    if detect:
        out |= {"power": RANDOM, "impossible": RANDOM}
    cases = [(b, n) for (_, b), (_, n) in zip(sorted(by(base, 0).items()), sorted(by(new, 0).items()))]
    if not binary(base + new) or math.prod((len(b) + 1) * (len(n) + 1) for b, n in cases) > OUTCOMES:
        return out
    sizes = [(len(b), len(n)) for b, n in cases]
    observed, beta = rates_of_cases([[r[2] for r in b] for b, _ in cases], [[r[2] for r in b + n] for b, n in cases])
    if lower:  # the failures drop
        observed, beta = 1 - observed, [(b, a) for a, b in beta]
    middle = mean(a / (a + b) for a, b in beta)
    found = []
    for outcome in itertools.product(*(itertools.product(range(b + 1), range(n + 1)) for b, n in sizes)):
        change = mean(Fraction(i, b) - Fraction(j, n) for (i, j), (b, n) in zip(outcome, sizes))
        if change >= Fraction(least) and drop_p(tuple(sorted(zip(outcome, sizes)))) < alpha:
            found.append(outcome)

    def power(drop):
        keep = max(0.0, 1 - float(drop / middle)) if drop else 1.0
        tables = [both_rates(float(a), float(b), n, m, keep) for (a, b), (n, m) in zip(beta, sizes)]
        return math.fsum(math.prod(t[i] for t, i in zip(tables, outcome)) for outcome in found)

    def smallest(wanted):
        if power(middle) < wanted:
            return None
        low, high = 0.0, float(middle)
        for _ in range(30):
            half = (low + high) / 2
            low, high = (half, high) if power(half) < wanted else (low, half)
        return high

    out["smallest_drop"] = {"from": smallest(USUAL_POWER - 0.13), "to": smallest(USUAL_POWER + 0.13)}
    if detect:
        impossible = Fraction(detect) > max(observed, middle) + Fraction(1, 10**12)
        out["impossible"] = impossible or None
        out["power"] = None if impossible else power(min(detect, middle))
    return out


USUAL_POWER = 0.8


def rates_of_cases(base, both):
    """The mean of the base, and the beta distributions of the rates of the cases."""
    icc = correlation(base)
    if icc is None:
        icc = correlation(both) or 0
    observed = mean(mean(runs) for runs in base)
    n = len(base) if icc else sum(len(runs) for runs in base)
    prior = (observed * n + Fraction(1, 2)) / (n + 1)
    if not icc:
        return observed, [(prior * FIXED, (1 - prior) * FIXED)] * len(base)
    weight = 1 / icc - 1
    return observed, [(sum(runs) + weight * prior, len(runs) - sum(runs) + weight * (1 - prior)) for runs in base]


FIXED = Fraction(10**9)  # runs of a distribution that is one value


def correlation(cases):
    """The correlation of the runs of a case, by the analysis of variance (Donner 1986), or None."""
    n, runs = len(cases), sum(len(c) for c in cases)
    if n < 2 or runs == n:
        return None
    middle = Fraction(sum(sum(c) for c in cases), runs)
    between = sum(len(c) * (mean(c) - middle) ** 2 for c in cases) / (n - 1)
    within_cases = sum(sum((v - mean(c)) ** 2 for v in c) for c in cases) / (runs - n)
    size = (runs - Fraction(sum(len(c) ** 2 for c in cases), runs)) / (n - 1)
    whole = between + (size - 1) * within_cases
    return min(Fraction(1), max(Fraction(0), (between - within_cases) / whole)) if whole else Fraction(0)


@functools.lru_cache(maxsize=None)
def drop_p(outcome):
    """The probability of a drop of successes, for the successes and runs of each case before and after."""
    pools = [([Fraction(1)] * i + [Fraction(0)] * (n - i), [Fraction(1)] * j + [Fraction(0)] * (m - j)) for (i, j), (n, m) in outcome]
    pools = [(b, n) for b, n in pools if len(set(b + n)) > 1]
    if not pools:
        return Fraction(1)
    ways, p = two_valued(pools, sum(mean(n) - mean(b) for b, n in pools), False)
    return Fraction(p, ways)


def both_rates(a, b, n, m, keep):
    """The probabilities of i successes in n runs with a rate x, and j in m with keep·x, where x has the distribution
    beta(a, b)."""
    def moment(up, down):  # E x^up (1-x)^down
        if a == 0 or b == 0:
            return float(up == 0) if a == 0 else float(down == 0)
        return math.exp(rising(a, up) + rising(b, down) - rising(a + b, up + down))

    def rising(x, k):
        return math.fsum(math.log(x + i) for i in range(k))

    out = {}
    for i in range(n + 1):
        for j in range(m + 1):
            # 1-keep·x = (1-keep)·x + (1-x): each part of its power is positive
            parts = (math.comb(m - j, k) * (1 - keep) ** k * moment(i + j + k, n - i + m - j - k) for k in range(m - j + 1))
            out[i, j] = math.comb(n, i) * math.comb(m, j) * keep**j * math.fsum(parts)
    return out


def within(base, new, higher):
    """The share of all assignments of the runs of each case with a difference at least as extreme (Fisher)."""
    after = by(new, 0)
    pools = [([r[2] for r in runs], [r[2] for r in after[case]]) for case, runs in by(base, 0).items()]
    pools = [(b, n) for b, n in pools if len(set(b + n)) > 1]
    observed = sum((mean(n) - mean(b) for b, n in pools), Fraction(0))
    values = {(len(set(b + n)), max(b + n) - min(b + n)) for b, n in pools}
    if not pools:
        return Fraction(1), "exact"
    if len(values) == 1 and min(values)[0] == 2:
        ways, p = two_valued(pools, observed, higher)
    elif math.prod(math.comb(len(b + n), len(b)) for b, n in pools) <= RESAMPLES:
        sums = Counter({Fraction(0): 1})
        for b, n in pools:
            one, before, sums = assignments(b, n), sums, Counter()
            for (s, i), (x, j) in itertools.product(before.items(), one.items()):
                sums[s + x] += i * j
        ways = sum(sums.values())
        p = sum(n for s, n in sums.items() if (s >= observed if higher else s <= observed))
    else:
        return RANDOM, RANDOM
    return Fraction(p, ways), "exact"


def assignments(b, n):
    """The number of assignments for each difference of means."""
    pool, out = b + n, Counter()
    for chosen in itertools.combinations(range(len(pool)), len(b)):
        s = sum(pool[i] for i in chosen)
        out[(sum(pool) - s) / len(n) - s / len(b)] += 1
    return out


def two_valued(pools, observed, higher):
    """The number of all assignments, and of those at least as extreme as observed, by the hypergeometric
    distribution of each case: the coefficients of a product of polynomials, each in a field of one integer."""
    distributions = []
    for b, n in pools:
        pool = b + n
        low, high = min(pool), max(pool)
        many, ways = pool.count(high), {}
        for x in range(max(0, many - len(b)), min(many, len(n)) + 1):
            change = (high - low) * (Fraction(x, len(n)) - Fraction(many - x, len(b)))
            ways[change] = math.comb(many, x) * math.comb(len(pool) - many, len(n) - x)
        distributions.append(ways)
    unit = math.lcm(*(x.denominator for d in distributions for x in d))
    step = math.gcd(*(int((x - min(d)) * unit) for d in distributions for x in d))
    ways = math.prod(sum(d.values()) for d in distributions)
    bits, product = ways.bit_length() + 1, 1
    for d in distributions:
        product = sum(n * (product << (int((x - min(d)) * unit) // step * bits)) for x, n in d.items())
    at = int((observed - sum(min(d) for d in distributions)) * unit) // step
    fields = product >> (at * bits) if higher else product & ((1 << ((at + 1) * bits)) - 1)
    return ways, fields % ((1 << bits) - 1)  # the sum of the fields


# looptape eval compare --sequential.


EFFECT = Fraction(0.2)


def sequential(base, new, lower):
    found = {}
    if any(cases_share(rows) for rows in (base, new)):
        return found  # an error
    for metric in metrics(base, new):
        values = [[r for r in rows if isinstance(r.get(metric), (int, Fraction))] for rows in (base, new)]
        cases = by_case(values[0])
        pairs, seen = [], Counter()
        for r in values[1]:  # in the order of the lines
            n = seen[r["case"]]
            seen[r["case"]] += 1
            if n < len(cases.get(r["case"], ())):
                pairs.append((Fraction(cases[r["case"]][n][metric]), Fraction(r[metric])))
        if pairs and all(0 <= Fraction(r[metric]) <= 1 for rows in values for r in rows):
            found[metric] = pairs, [len(rows) - len(pairs) for rows in values]
    return {m: sequential_metric(m, *found[m], len(found), base, new, lower) for m in found}


def cases_share(rows):
    """Whether two cases share a cluster."""
    return len({(r["cluster"], r["case"]) for r in rows if r.get("cluster")}) > len({r["cluster"] for r in rows if r.get("cluster")})


def by_case(rows):
    cases = defaultdict(list)
    for r in rows:
        cases[r["case"]].append(r)
    return cases


def sequential_metric(metric, pairs, unpaired, shares, base, new, lower):
    """The mean of the products of 1+bet·d and 1-bet·d: each bet is the effect over the mean square of the differences
    before, of which ten with the mean square 1/4 are assumed at the beginning, and at most 0.95."""
    higher = less = largest = mpf(1)
    squares, decided, up = mpf(10) / 4, 0, None
    for i, (b, n) in enumerate(pairs):
        d = number(n - b)
        bet = min(mpf("0.95"), number(EFFECT) * (10 + i) / squares)
        higher, less, squares = higher * (1 + bet * d), less * (1 - bet * d), squares + d * d
        e = (higher + less) / 2
        largest = max(largest, e)
        if not decided and e >= 20 * shares:
            decided, up = i + 1, higher > less
    counts = [unscored(rows, metric) for rows in (base, new)]
    both = lambda values: dict(zip(("base", "new"), values))
    return {
        "decision": "undecided" if not decided else "better" if up != (metric in lower) else "worse",
        "pairs": len(pairs),
        "base": mean(b for b, _ in pairs),
        "new": mean(n for _, n in pairs),
        "e": e,
        "p": min(mpf(1), shares / largest),
        "decided": decided,
        "unpaired": both(unpaired),
        "missing": both(c[0] for c in counts),
        "errors": both(c[1] for c in counts),
    }


# looptape eval power.


def power(base, new, target, alpha, wanted):
    return {metric: power_metric(base, new if new else base, metric, target, alpha, wanted) for metric in metrics(base, new)}


def power_metric(all_base, all_new, metric, target, alpha, wanted):
    out = {"same_cases": None, "different_cases": None}
    base, new = common(all_base, all_new, metric)
    if not base:
        return out
    d = difference(base, new)  # the test that permutes their signs is simulated
    rate = mean(r[2] for r in case_means(base))
    largest = max(rate, 1 - rate) if binary(base + new) else math.inf
    variances = [cluster_variance(case_means(s)) or 0 for s in (base, new)]
    out["different_cases"] = t_sizes(d, sum(variances), largest, target, alpha, wanted)
    changed = sum(r[2] != 0 for r in d)
    if mcnemar_valid(base, new) and changed:
        out["same_cases"] = mcnemar_sizes(len(d), Fraction(changed, len(d)), largest, target, alpha, wanted)
    for sizes in out.values():
        if sizes and abs(target) > largest + Fraction(1, 10**12):
            sizes |= {"required": None, "impossible": True}
    return out


def t_sizes(d, variance_of_mean, largest, target, alpha, wanted):
    if not variance_of_mean:
        return None
    clusters = len(by(d, 1))
    variance = float(variance_of_mean * clusters)
    found = detectable(clusters, variance, alpha, wanted)
    n = required(abs(float(target)), variance, alpha, wanted)
    return {
        "cases": len(d),
        "detectable": found if found is not None and found <= largest else None,
        "required": None if n is None else -(-n * len(d) // clusters),
    }


def detectable(n, variance, alpha, wanted):
    """The difference at which the power of the t test of n cases is the wanted one."""

    def gap(x):
        return t_power(n - 1, x, alpha) - wanted

    if gap(FARTHEST) < 0:
        return None
    return zero(gap, 0.0, FARTHEST) * math.sqrt(variance / n)


# The largest noncentrality that counts, in standard errors.
FARTHEST = 38.0


def required(target, variance, alpha, wanted):
    """The smallest number of cases of a t test with the wanted power."""

    def enough(n):
        return t_power(n - 1, min(FARTHEST, target * math.sqrt(n / variance)), alpha) >= wanted

    normal = normal_quantile(alpha / 2) + normal_quantile(1 - wanted)
    start = float(variance * (normal / target) ** 2)
    if start > 2 * MOST_CASES:
        return None
    n = max(2, int(start))
    while not enough(n):
        n += 1
    while n > 2 and enough(n - 1):
        n -= 1
    return n if n <= MOST_CASES else None


def mcnemar_sizes(cases, share, largest, target, alpha, wanted):
    share = float(share)

    def found(n, d):
        return mcnemar_power(n, max(share, d), d, alpha)

    out = {"cases": cases, "detectable": None}
    if found(cases, 1.0) >= wanted:
        low, high = 0.0, 1.0
        for _ in range(45):
            middle = (low + high) / 2
            if found(cases, middle) < wanted:
                low = middle
            else:
                high = middle
        if high <= largest:
            out["detectable"] = high
    # The power is not monotone: the number from which on it is reached, a little above that of Connor.
    d = abs(float(target))
    changing = max(share, d)
    normal = normal_quantile(alpha / 2) * mp.sqrt(changing) + normal_quantile(1 - wanted) * mp.sqrt(changing - d * d)
    bound = int(1.2 * float(normal / d) ** 2) + 50
    out["required"] = next(n for n in range(bound, 0, -1) if found(n, d) < wanted) + 1
    return out


def planned(rate, icc, effect, trials):
    """The shares of changing cases and the variance of a difference, for rates of cases of which a share icc is 0 or
    1 and the others are equal. A drop reduces all rates in proportion, a rise all shares of failures."""
    rate, icc, effect = Fraction(rate), Fraction(icc), Fraction(effect)
    out, first, second = {"only_base": 0, "only_new": 0}, 0, 0
    within = 0
    for x, share in ((rate, 1 - icc), (Fraction(1), icc * rate), (Fraction(0), icc * (1 - rate))):
        y = x * (1 + effect / rate) if effect < 0 else 1 - (1 - x) * (1 - effect / (1 - rate))
        out["only_base"] += share * x * (1 - y)
        out["only_new"] += share * y * (1 - x)
        first += share * (y - x)
        second += share * (y - x) ** 2
        within += share * (x * (1 - x) + y * (1 - y)) / trials
    return out | {"variance": second - first**2 + within}


@functools.lru_cache(maxsize=None)
def critical(k, alpha):
    """The number of values of the direction with fewer of k discordant pairs for which mid-p is below alpha."""
    x, below = 0, 0
    while x <= k and Fraction(2 * below + math.comb(k, x), 2**k) < Fraction(alpha):
        below += math.comb(k, x)
        x += 1
    return x


@functools.lru_cache(maxsize=None)
def log_factorial(n):
    return math.lgamma(n + 1)


def binomial(n, k, p):
    if p in (0.0, 1.0):
        return float(k == n * p)
    return math.exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) + k * math.log(p) + (n - k) * math.log1p(-p))


def mcnemar_power(n, share, d, alpha):
    """The probability that mid-p is below alpha in the direction of the difference, over the number of discordant
    pairs and those against it."""
    against = (1 - d / share) / 2
    total = 0.0
    for k in near(n, share):
        below = critical(k, alpha)
        total += binomial(n, k, share) * math.fsum(binomial(k, x, against) for x in near(k, against) if x < below)
    return total


def near(n, p):
    """The numbers of n within ten standard deviations of their mean, and more."""
    width = 10 * math.sqrt(n * p * (1 - p)) + 20
    return range(max(0, int(n * p - width)), min(n, int(n * p + width)) + 1)


def plain(x):
    """The statistics as JSON."""
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return float(x) if isinstance(x, (Fraction, mpf)) else x


def statistics(line):
    s = json.loads(line, parse_float=Fraction)
    test = float(s["alpha"]), float(s["power"])
    comparison = compare(s["base"], s["new"])
    return plain({
        "base": score(s["base"]),
        "new": score(s["new"]),
        "compare": comparison,
        "sequential": sequential(s["base"], s["new"], s["lower"]),
        "labels": agreements(s["new"], s["labels"]),
        "gate": gate(s["base"], s["new"], s["lower"], comparison, s["gate"]),
        "same": power(s["base"], s["new"], s["difference"], *test) if s["difference"] else {},
        "plan": planned(**s["plan"]) if s["plan"] else None,
        "single": power(s["base"], [], s["difference"], *test) if s["difference"] else {},
    })


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(statistics(line)), flush=True)
