package explore

// chunk is how many entries grow at a time, so that a large set is never copied as a whole.
const chunk = 1 << 18

// visited is a set of fingerprints in the order of their arrival, each with the number of the state it was reached
// from. It costs 20 bytes a state and 4 to 8 for its index. One goroutine at a time may use it.
type visited struct {
	prints  [][]digest
	parents [][]uint32
	n       int
	index   []uint32 // open addressing; 0 is free, else number+1
}

func newVisited() *visited { return &visited{index: make([]uint32, 1<<12)} }

func (v *visited) at(i int) digest { return v.prints[i/chunk][i%chunk] }

func (v *visited) parent(i int) uint32 { return v.parents[i/chunk][i%chunk] }

// add puts p into the set. It returns the number of p there and reports whether p is new.
func (v *visited) add(p digest, parent uint32) (int, bool) {
	if v.n*4 >= len(v.index)*3 {
		v.grow()
	}
	mask := uint64(len(v.index) - 1)
	at := p.lo & mask
	for ; v.index[at] != 0; at = (at + 1) & mask {
		if i := int(v.index[at] - 1); v.at(i) == p {
			return i, false
		}
	}
	i := v.n
	if i%chunk == 0 {
		v.prints = append(v.prints, make([]digest, chunk))
		v.parents = append(v.parents, make([]uint32, chunk))
	}
	v.prints[i/chunk][i%chunk] = p
	v.parents[i/chunk][i%chunk] = parent
	v.n++
	v.index[at] = uint32(v.n)
	return i, true
}

func (v *visited) grow() {
	v.index = make([]uint32, 2*len(v.index))
	mask := uint64(len(v.index) - 1)
	for i := range v.n {
		at := v.at(i).lo & mask
		for v.index[at] != 0 {
			at = (at + 1) & mask
		}
		v.index[at] = uint32(i + 1)
	}
}
