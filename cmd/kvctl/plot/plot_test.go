package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pictures that Render draws now to testdata")

func sample() Chart {
	return Chart{
		Title: "Size & <speed>", Subtitle: "on one machine",
		X: Axis{Label: "bytes", Log: true, Format: Bytes}, Y: Axis{Label: "operations a second"},
		Lines: []Line{
			{Name: "put", Color: "#b5400f", Points: []Point{{16, 4000, 3500, 4200}, {1024, 3000, 3000, 3000}, {65536, 500, 400, 800}}},
			{Name: "get p99", Color: "#0b6ab0", Dashed: true, Points: []Point{{16, 9000, 8000, 9900}, {65536, 2000, 2000, 2000}}},
		},
	}
}

func TestRenderIsPure(t *testing.T) {
	got, err := Render(sample())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Render(sample())
	if err != nil || !bytes.Equal(got, again) {
		t.Fatalf("two drawings of one chart differ, or: %v", err)
	}
	const golden = "testdata/sample.svg"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s; look at both, and if the new one is right: go test ./cmd/kvctl/plot -update", golden)
	}
}

// elements parses a picture and returns the texts in it and how many elements of each name it has.
func elements(t *testing.T, svg []byte) (texts []string, count map[string]int) {
	t.Helper()
	count = map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(svg))
	for in := ""; ; {
		token, err := d.Token()
		if err == io.EOF {
			return texts, count
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			in = x.Name.Local
			count[in]++
			for _, a := range x.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %v", in, a)
				}
			}
		case xml.CharData:
			if in == "text" && len(bytes.TrimSpace(x)) > 0 {
				texts = append(texts, string(x))
			}
		}
	}
}

func TestRenderShowsEverything(t *testing.T) {
	svg, err := Render(sample())
	if err != nil {
		t.Fatal(err)
	}
	texts, count := elements(t, svg)
	for _, want := range []string{"Size & <speed>", "on one machine", "bytes, log scale", "operations a second", "put", "get p99",
		"16 B", "1 KiB", "64 KiB", "0", "10 k"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is not among %q", want, texts)
		}
	}
	// Two lines with their legend marks, and three points with a range.
	if count["polyline"] != 2 || count["circle"] != 5+2 || count["path"] != 3 || count["script"] != 0 {
		t.Errorf("%v", count)
	}
}

// A higher value stands higher, a range's ends around its point, and all within the frame.
func TestPlaces(t *testing.T) {
	for _, log := range []bool{false, true} {
		s, ticks := fit([]float64{3, 170}, log, 400, 60)
		if !slices.IsSorted(ticks) || ticks[0] > 3 || ticks[len(ticks)-1] < 170 || log == (ticks[0] == 0) {
			t.Errorf("log %v: ticks %v", log, ticks)
		}
		if a, b, c := s.place(3), s.place(20), s.place(170); !(400 >= a && a > b && b > c && c >= 60) {
			t.Errorf("log %v: %v %v %v", log, a, b, c)
		}
	}
	s := scale{low: 1, high: 10_000, from: 0, to: 100, log: true}
	if s.place(1) != 0 || s.place(100) != 50 || s.place(10_000) != 100 {
		t.Errorf("%v %v %v", s.place(1), s.place(100), s.place(10_000))
	}
}

func TestTicks(t *testing.T) {
	for _, x := range []struct {
		got, want []float64
	}{
		{linearTicks(0), []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{linearTicks(9900), []float64{0, 2000, 4000, 6000, 8000, 10000}},
		{linearTicks(100), []float64{0, 20, 40, 60, 80, 100}},
		{logTicks(3, 170), []float64{2, 5, 10, 20, 50, 100, 200}},
		{logTicks(0.08, 200), []float64{0.01, 0.1, 1, 10, 100, 1000}},
		{logTicks(5, 5), []float64{5, 10}},
	} {
		if !slices.EqualFunc(x.got, x.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9*math.Max(a, 1) }) {
			t.Errorf("%v, want %v", x.got, x.want)
		}
	}
	for high := 1e-3; high < 1e9; high *= 1.7 {
		if n := len(linearTicks(high)); n < 4 || n > 9 {
			t.Errorf("%d ticks up to %v", n, high)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	if _, err := Render(Chart{Lines: []Line{{}}}); !errors.Is(err, errEmpty) {
		t.Error(err)
	}
	for name, p := range map[string][]Point{
		"not finite":      {{1, math.NaN(), 1, 1}},
		"does not hold":   {{1, 5, 6, 7}},
		"no logarithm":    {{0, 1, 1, 1}},
		"x does not rise": {{2, 1, 1, 1}, {2, 1, 1, 1}},
	} {
		_, err := Render(Chart{X: Axis{Log: true}, Lines: []Line{{Name: "l", Points: p}}})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Number(0.05): "0.05", Number(999): "999", Number(10_000): "10 k", Number(3e6): "3 M", Number(2500): "2.5 k",
		Bytes(16): "16 B", Bytes(1024): "1 KiB", Bytes(256 << 10): "256 KiB", Bytes(1 << 20): "1 MiB",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
