package multipaxos

// ring is a queue in one slice that is used again: pushing and popping in balance allocates nothing.
type ring[T any] struct {
	buf  []T // length a power of two, or none
	head int
	n    int
}

func (r *ring[T]) len() int { return r.n }

// at returns the i-th element from the front; the pointer is good until the next push.
func (r *ring[T]) at(i int) *T {
	if i < 0 || i >= r.n {
		panic("multipaxos: ring index out of range")
	}
	return &r.buf[(r.head+i)&(len(r.buf)-1)]
}

func (r *ring[T]) push(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}

// pop removes the front element and clears its place, so that memory it points to can be freed.
func (r *ring[T]) pop() T {
	p := r.at(0)
	v := *p
	var zero T
	*p = zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return v
}

func (r *ring[T]) clear() {
	clear(r.buf)
	r.head, r.n = 0, 0
}

func (r *ring[T]) grow() {
	buf := make([]T, max(8, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = *r.at(i)
	}
	r.buf, r.head = buf, 0
}

// clone copies the elements themselves, not what they point to.
func (r *ring[T]) clone() ring[T] {
	return ring[T]{buf: append([]T(nil), r.buf...), head: r.head, n: r.n}
}
