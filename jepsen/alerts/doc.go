// Package alerts tries the alerts and the dashboard of packaging/monitoring with a real Prometheus on real clusters. In
// health no alert may fire, and every query of the dashboard must have data. Then fault follows fault, and each must make
// its alerts fire. The rules' times are shorter than in production, or a run would take days: see shorten.
//
// Two alerts are left to promtool alone: TenureHandlerPanics, whose fault would be one of Tenure, and TenureArchiveGap,
// which takes a target that is away for a gigabyte of writes.
//
//   - alerts.go: the run and its report; rules.go: the shorter times; prometheus.go; dashboard.go
//   - bed.go: a cluster, what watches it, and its load; fault.go: how a fault is tried
//   - plain.go, disks.go, machines.go, certificates.go, differ.go: the faults
package alerts
