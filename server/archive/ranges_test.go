package archive

import (
	"fmt"
	"strings"
	"testing"
)

// text returns a range as "first-last, full copies, segments".
func (r Range) text() string {
	return fmt.Sprintf("%d-%d %d %d", r.First.Slot, r.Last, r.Fulls, r.Segments)
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		what string
		l    Listing
		want string
	}{
		{"nothing", listingOf(nil), ""},
		{"segments without a full copy", listingOf(nil, [2]int{1, 5}), ""},
		{"a full copy alone", listingOf([]int{5}), "5-5 1 0"},
		{"segments before it", listingOf([]int{5}, [2]int{1, 4}, [2]int{5, 9}, [2]int{10, 10}), "5-10 1 2"},
		{"full copies in a row", listingOf([]int{1, 4, 9}, [2]int{2, 5}, [2]int{6, 12}), "1-12 3 2"},
		{"a full copy that closes a gap of one", listingOf([]int{1, 5}, [2]int{2, 4}, [2]int{6, 7}), "1-7 2 2"},
		{"a gap", listingOf([]int{1, 8}, [2]int{2, 4}, [2]int{9, 12}), "1-4 1 1, 8-12 1 1"},
		{"segments behind a gap need a full copy", listingOf([]int{1, 10}, [2]int{2, 4}, [2]int{6, 9}, [2]int{10, 12}),
			"1-4 1 1, 10-12 1 1"},
		{"a full copy behind the end", listingOf([]int{1, 20}, [2]int{2, 4}), "1-4 1 1, 20-20 1 0"},
	} {
		var got []string
		for _, r := range c.l.Ranges() {
			got = append(got, r.text())
			if !r.Reached.Equal(at(int(r.Last))) {
				t.Errorf("%s: slot %d was reached at %v", c.what, r.Last, r.Reached)
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.what, s, c.want)
		}
	}
	l := listingOf([]int{1, 8}, [2]int{2, 4}, [2]int{9, 12})
	if g := l.Ranges()[0].GapAfter(l.Ranges()[1]); g != (Gap{5, 7}) || !l.Newest().Equal(at(12)) {
		t.Errorf("%+v %v", g, l.Newest())
	}
	if empty := listingOf(nil); !empty.Newest().IsZero() {
		t.Error(empty.Newest())
	}
}
