// Package sweep measures clusters over a range of values of one parameter, and draws charts of the results.
//
//   - series.go: what is varied, and the loads at each value
//   - run.go: the order of a series' measurements
//   - trial.go: one cluster of processes, and kvctl bench on it
//   - file.go: what was measured, as it is kept
//   - charts.go: from what is kept to charts (package chart)
package sweep
