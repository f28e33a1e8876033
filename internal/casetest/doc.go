// Package casetest runs the bug bank: testdata/cases, and with CLAWBOT_CASES
// (directories parted by the path list separator) any other directory of the
// same format. Each case is a test named TestCases/<id>.
//
// A mode of cases is run by the method of [runner] that bears its name, in a
// file of its own: mode "validate" by Validate in validate_test.go. To add a
// mode, add the file:
//
//	func (runner) Stream(t *testing.T, c Case) { ... }
//
// Nothing else needs to change.
package casetest
