package match

// indexPair is a pair of indexes in two arrays; -1 means that there is no element.
type indexPair struct{ was, now int }

// maxCells limits the number of compared pairs.
const maxCells = 1 << 16

// minCommon is the minimum fraction of equal elements, as a divisor. Fewer are equal by
// chance.
const minCommon = 3

// align pairs the elements of two arrays in their order. Equal elements form pairs; the
// elements between them are paired one after the other.
func align(a, b []tree) (out []indexPair) {
	from := 0
	for from < min(len(a), len(b)) && a[from].sum == b[from].sum {
		out = append(out, indexPair{from, from})
		from++
	}
	end := 0
	for end < min(len(a), len(b))-from && a[len(a)-1-end].sum == b[len(b)-1-end].sum {
		end++
	}
	at, to := indexPair{from, from}, indexPair{len(a) - end, len(b) - end}
	list := common(a[at.was:to.was], b[at.now:to.now])
	if (from+end+len(list))*minCommon < max(len(a), len(b)) {
		list = nil
	}
	for _, same := range list {
		same = indexPair{from + same.was, from + same.now}
		out = append(between(out, at, same), same)
		at = indexPair{same.was + 1, same.now + 1}
	}
	out = between(out, at, to)
	for i := range end {
		out = append(out, indexPair{to.was + i, to.now + i})
	}
	return out
}

func between(out []indexPair, at, to indexPair) []indexPair {
	for ; at.was < to.was && at.now < to.now; at = (indexPair{at.was + 1, at.now + 1}) {
		out = append(out, at)
	}
	for i := at.was; i < to.was; i++ {
		out = append(out, indexPair{i, -1})
	}
	for i := at.now; i < to.now; i++ {
		out = append(out, indexPair{-1, i})
	}
	return out
}

// common returns a longest common subsequence. It returns nil if the lists are too long.
func common(a, b []tree) (out []indexPair) {
	if len(a)*len(b) > maxCells {
		return nil
	}
	// common[i][j] is the length for a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i].sum == b[j].sum {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; common[i][j] > 0; {
		switch {
		case a[i].sum == b[j].sum:
			out = append(out, indexPair{i, j})
			i, j = i+1, j+1
		case common[i+1][j] == common[i][j]:
			i++
		default:
			j++
		}
	}
	return out
}
