package transport

import (
	"testing"

	"pgregory.net/rapid"
)

func TestQueueForgetsTheOldestOrRefusesTheNewest(t *testing.T) {
	for _, dropOldest := range []bool{true, false} {
		q := newQueue(3, 100, dropOldest)
		for i := range 5 {
			ok, dropped := q.push([]byte{byte(i)})
			if ok != (dropOldest || i < 3) || (dropped == 1) != (dropOldest && i >= 3) {
				t.Fatalf("push %d: %v, %d dropped", i, ok, dropped)
			}
		}
		first := byte(0)
		if dropOldest {
			first = 2
		}
		for i, b := range q.take(nil, 100) {
			if b[0] != first+byte(i) {
				t.Fatalf("body %d is %d", i, b[0])
			}
		}
		if ok, _ := q.push([]byte{9}); ok {
			t.Fatal("what is being written is not counted")
		}
		q.written()
		if ok, _ := q.push(make([]byte, 101)); ok {
			t.Fatal("too many bytes")
		}
		if ok, _ := q.push(make([]byte, 100)); !ok {
			t.Fatal("space was not given back")
		}
	}
}

// Under all operations the limits hold, order is kept, and only reported frames are lost.
func TestQueueAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const frames, bytes = 5, 40
		q := newQueue(frames, bytes, rapid.Bool().Draw(t, "dropOldest"))
		next, pushed, dropped, taken, last := 0, 0, 0, 0, -1
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				body := make([]byte, rapid.IntRange(1, 20).Draw(t, "size"))
				body[0] = byte(next)
				next++
				ok, d := q.push(body)
				if ok {
					pushed++
				}
				dropped += d
			case 2:
				for _, b := range q.take(nil, rapid.IntRange(1, 30).Draw(t, "limit")) {
					if int(b[0]) <= last {
						t.Fatalf("%d after %d", b[0], last)
					}
					last = int(b[0])
					taken++
				}
			case 3:
				q.written()
			}
			n, size := q.size()
			if n > frames || size > bytes || n < 0 || size < 0 {
				t.Fatalf("%d frames, %d bytes", n, size)
			}
		}
		taken += len(q.take(nil, 1000))
		if pushed != taken+dropped {
			t.Fatalf("%d pushed, %d taken, %d dropped", pushed, taken, dropped)
		}
		q.written()
		select {
		case <-q.drained():
		default:
			t.Fatal("not drained")
		}
		if n, size := q.size(); n != 0 || size != 0 {
			t.Fatalf("%d frames, %d bytes left", n, size)
		}
	})
}

func TestDrainedWaitsForWhatIsBeingWritten(t *testing.T) {
	q := newQueue(3, 100, false)
	q.push([]byte{1})
	q.take(nil, 100)
	c := q.drained()
	select {
	case <-c:
		t.Fatal("drained before it was written")
	default:
	}
	q.written()
	<-c
	q.push([]byte{1})
	c = q.drained()
	q.close()
	<-c
	if ok, _ := q.push([]byte{1}); ok {
		t.Fatal("pushed into a closed queue")
	}
}
