package lease

type pipe = chan int // want "channel"

type box struct {
	in <-chan int // want "channel"
}

func spawn(f func()) {
	go f() // want "go statement"
}

func wait(b box) int {
	select { // want "select"
	case x := <-b.in: // want "channel"
		return x
	default:
		return 0
	}
}

func drain[C ~chan int](c C) { // want "channel"
	for range c { // want "channel"
	}
}

func send(p pipe) { // want "channel"
	p <- 1   // want "channel"
	close(p) // want "channel"
}
