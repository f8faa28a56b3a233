// Package metrics registers the figures of a node under the namespace tenure. Each part of the server registers its
// own, in a file whose name ends in metrics.go; what belongs to the process as a whole is registered here.
package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const namespace = "tenure"

// Latencies are the buckets of a latency, from 0.1 ms to 3.3 s.
var Latencies = prometheus.ExponentialBuckets(0.000_1, 2, 16)

// Counter registers a counter and returns it.
func Counter(reg prometheus.Registerer, name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	reg.MustRegister(c)
	return c
}

// Counters registers a counter for each value of a label and returns them.
func Counters(reg prometheus.Registerer, name, help, label string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
	reg.MustRegister(c)
	return c
}

// CounterFunc registers a counter that is read when somebody asks for it.
func CounterFunc(reg prometheus.Registerer, name, help string, read func() float64) {
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, read))
}

// Gauge registers a figure that is read when somebody asks for it. labels may be nil.
func Gauge(reg prometheus.Registerer, name, help string, labels prometheus.Labels, read func() float64) {
	reg.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels}, read))
}

// Desc describes a figure that a collector of its own collects, with one label.
func Desc(name, help, label string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, []string{label}, nil)
}

// Flag is Gauge for a figure that is 1 if read returns true, and else 0.
func Flag(reg prometheus.Registerer, name, help string, labels prometheus.Labels, read func() bool) {
	Gauge(reg, name, help, labels, func() float64 {
		if read() {
			return 1
		}
		return 0
	})
}

// Histogram registers a histogram and returns it.
func Histogram(reg prometheus.Registerer, name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	reg.MustRegister(h)
	return h
}

// Histograms registers a histogram for each combination of labels and returns them.
func Histograms(reg prometheus.Registerer, name, help string, buckets []float64,
	labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(
		prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	reg.MustRegister(h)
	return h
}

// Process registers which build this is, and what the Go runtime and the system know of the process.
func Process(reg prometheus.Registerer, version, revision string) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info",
		Help: "1, with the version, the revision that was built, and the Go version as labels."},
		[]string{"version", "revision", "goversion"})
	info.WithLabelValues(version, revision, runtime.Version()).Set(1)
	reg.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
