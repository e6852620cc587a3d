package wire_test

var anyShown = []shown{
	{quirk: "QT-01:crlf@1", same: true},
	{quirk: "QT-04@1", same: true},
	{quirk: "QT-06:429@2", ran: "call_1 call_2 call_3", requests: 4},
}
