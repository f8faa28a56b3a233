// Package sweep measures a cluster at one value after the other of something, and makes plots of what was measured.
//
//   - series.go: what is varied, and what is measured at each value. run.go: measures. file.go: keeps the results.
//   - charts.go: from kept results to charts, a pure function.
package sweep
