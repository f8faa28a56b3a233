// Package sweep measures clusters over a range of values of one parameter, and draws charts of the results.
//
//	series.go  the parameter that varies, and the loads at each value
//	run.go     the order of a series' measurements
//	trial.go   one cluster of processes, and kvctl bench on it
//	file.go    the file of measurements
//	charts.go  charts of that file (package chart)
package sweep
