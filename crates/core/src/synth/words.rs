//! Word lists and sentence patterns of nine languages, invented for the generator.
//!
//! In a pattern `{n}` is a noun, `{a}` an adjective, `{v}` a verb, `{x}` an invented name, `{#}` a
//! number and `{c}` a code. Names, numbers and codes stand at most a few words apart, so that two
//! texts of different tenants never share eight words by chance.

/// A language of the generated traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lang {
    /// English.
    En,
    /// German.
    De,
    /// French.
    Fr,
    /// Spanish.
    Es,
    /// Chinese.
    Zh,
    /// Japanese.
    Ja,
    /// Korean.
    Ko,
    /// Russian.
    Ru,
    /// Thai.
    Th,
}

/// The script of invented names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Latin syllables.
    Latin,
    /// Cyrillic syllables.
    Cyrillic,
    /// Han characters.
    Han,
    /// Katakana.
    Kana,
    /// Hangul syllables.
    Hangul,
    /// Thai syllables.
    Thai,
}

/// What a language is made of.
pub(super) struct Vocabulary {
    /// Two-letter code of the labels.
    pub(super) code: &'static str,
    /// Script of names.
    pub(super) names: Names,
    /// Between two sentences.
    pub(super) gap: &'static str,
    /// Sentence patterns.
    pub(super) patterns: &'static [&'static str],
    /// Nouns.
    pub(super) nouns: &'static [&'static str],
    /// Adjectives.
    pub(super) adjectives: &'static [&'static str],
    /// Verbs.
    pub(super) verbs: &'static [&'static str],
    /// What a user asks before the text (at most four words).
    pub(super) asks: &'static [&'static str],
    /// How an answer opens (at most four words).
    pub(super) openings: &'static [&'static str],
}

impl Lang {
    /// The two-letter code.
    pub(super) fn code(self) -> &'static str {
        self.vocabulary().code
    }

    /// The lists of this language.
    pub(super) fn vocabulary(self) -> &'static Vocabulary {
        match self {
            Lang::En => &EN,
            Lang::De => &DE,
            Lang::Fr => &FR,
            Lang::Es => &ES,
            Lang::Zh => &ZH,
            Lang::Ja => &JA,
            Lang::Ko => &KO,
            Lang::Ru => &RU,
            Lang::Th => &TH,
        }
    }
}

/// System prompts that many tenants share, word for word.
pub(super) const SYSTEM_PROMPTS: [&str; 4] = [
    "You are the office helper of a mid-sized company. Keep to what the given papers say, name the \
     page you rely on, and write amounts with their currency. When a figure is missing, say which \
     one and stop there instead of guessing it.",
    "Act as a careful reviewer of source code. List faults first, from the gravest to the mildest, \
     then questions, then praise. Never rewrite a whole file; show the smallest change that cures \
     the fault and explain in one line why it does.",
    "Answer customers in the language they write in. Stay polite and short, never promise a date \
     that the ticket does not hold, and hand over to a person as soon as money, health or a legal \
     matter is touched.",
    "Turn meeting notes into tasks. Each task has an owner, a due day and one sentence. Drop small \
     talk, keep decisions in their own list, and mark with a star whatever the notes leave open.",
];

const EN: Vocabulary = Vocabulary {
    code: "en",
    names: Names::Latin,
    gap: " ",
    patterns: &[
        "The {a} {n} of {x} lists {#} {n} under {c}.",
        "{x} asked {x} to {v} the {n} by {#}, reference {c}.",
        "Invoice {c} shows {#} EUR for {x}, {a} as agreed with {x}.",
        "If {x} cannot {v} it, call {x} at extension {#}.",
        "`{x}_total = load(\"{c}\", {#})` feeds the {n} of {x}.",
        "Our {n} in {x} rose by {#} percent; {x} will {v} lot {c}.",
        "Write to {x}@{x}.example about {n} {c}.",
    ],
    nouns: &[
        "contract",
        "shipment",
        "ledger",
        "forecast",
        "warehouse",
        "claim",
        "schedule",
        "audit",
        "refund",
        "patient",
        "tender",
        "payroll",
        "pipeline",
        "meter",
        "backlog",
        "permit",
        "roster",
        "catalogue",
        "deposit",
        "turbine",
        "lease",
        "survey",
        "budget",
        "ticket",
    ],
    adjectives: &[
        "late", "open", "revised", "annual", "internal", "joint", "partial", "signed", "urgent",
        "former", "regional", "final",
    ],
    verbs: &[
        "approve",
        "cancel",
        "renew",
        "inspect",
        "forward",
        "settle",
        "archive",
        "measure",
        "replace",
        "confirm",
        "translate",
        "split",
    ],
    asks: &[
        "Summarise this note",
        "Please check these lines",
        "Draft a reply",
        "List open points",
    ],
    openings: &["In short", "Here it is", "A first look", "Summary"],
};

const DE: Vocabulary = Vocabulary {
    code: "de",
    names: Names::Latin,
    gap: " ",
    patterns: &[
        "Der {a} {n} von {x} umfasst {#} Posten laut {c}.",
        "{x} soll für {x} bis Woche {#} alles {v}, Zeichen {c}.",
        "Die Rechnung {c} über {#} Euro ging an {x} und {x}.",
        "Falls {x} den {n} {c} nicht findet, hilft {x} unter {#}.",
        "Im Werk {x} fehlen {#} Stück, daher muss {x} die Ware {c} {v}.",
        "Bitte {x} fragen, ob der {n} {c} noch gilt.",
    ],
    nouns: &[
        "Vertrag",
        "Bericht",
        "Auftrag",
        "Termin",
        "Bestand",
        "Antrag",
        "Beleg",
        "Lieferschein",
        "Zeitplan",
        "Haushalt",
        "Standort",
        "Versand",
        "Rabatt",
        "Tarif",
        "Nachweis",
        "Entwurf",
        "Umsatz",
        "Prüfplan",
        "Schaden",
        "Anhang",
        "Zuschlag",
        "Mietspiegel",
    ],
    adjectives: &[
        "neue",
        "offene",
        "geänderte",
        "jährliche",
        "interne",
        "gemeinsame",
        "eilige",
        "alte",
        "letzte",
        "vorläufige",
        "größere",
        "endgültige",
    ],
    verbs: &[
        "prüfen",
        "liefern",
        "buchen",
        "kürzen",
        "ersetzen",
        "messen",
        "melden",
        "sperren",
        "zahlen",
        "ordnen",
        "verlängern",
        "übersetzen",
    ],
    asks: &[
        "Bitte zusammenfassen",
        "Prüfe diese Zeilen",
        "Entwirf eine Antwort",
        "Was ist offen",
    ],
    openings: &[
        "Kurz gesagt",
        "Hier der Stand",
        "Ein erster Blick",
        "Zusammenfassung",
    ],
};

const FR: Vocabulary = Vocabulary {
    code: "fr",
    names: Names::Latin,
    gap: " ",
    patterns: &[
        "Le {n} {a} de {x} compte {#} lignes sous {c}.",
        "{x} doit {v} pour {x} avant la semaine {#}, dossier {c}.",
        "La facture {c} de {#} euros revient à {x} et {x}.",
        "Si {x} refuse le {n} {c}, appeler {x} au poste {#}.",
        "Chez {x}, il manque {#} pièces ; {x} va {v} le lot {c}.",
        "Demander à {x} si le {n} {c} reste valable.",
    ],
    nouns: &[
        "contrat",
        "rapport",
        "devis",
        "budget",
        "planning",
        "bilan",
        "relevé",
        "courrier",
        "tarif",
        "compte",
        "stock",
        "projet",
        "virement",
        "bordereau",
        "avenant",
        "audit",
        "contrôle",
        "entrepôt",
        "litige",
        "paiement",
        "calendrier",
        "chantier",
    ],
    adjectives: &[
        "annuel",
        "initial",
        "détaillé",
        "urgent",
        "révisé",
        "mensuel",
        "interne",
        "complet",
        "provisoire",
        "signé",
        "ancien",
        "définitif",
    ],
    verbs: &[
        "vérifier",
        "livrer",
        "payer",
        "classer",
        "mesurer",
        "remplacer",
        "annuler",
        "traduire",
        "signer",
        "prolonger",
        "répartir",
        "clore",
    ],
    asks: &[
        "Résume cette note",
        "Vérifie ces lignes",
        "Rédige une réponse",
        "Liste les écarts",
    ],
    openings: &["En bref", "Voici le point", "Premier examen", "Résumé"],
};

const ES: Vocabulary = Vocabulary {
    code: "es",
    names: Names::Latin,
    gap: " ",
    patterns: &[
        "El {n} {a} de {x} suma {#} partidas con {c}.",
        "{x} debe {v} para {x} antes del día {#}, clave {c}.",
        "La factura {c} por {#} euros va a {x} y {x}.",
        "Si {x} no halla el {n} {c}, avise a {x} en el {#}.",
        "En {x} faltan {#} piezas; {x} quiere {v} el lote {c}.",
        "Pregunte a {x} si el {n} {c} sigue vigente.",
    ],
    nouns: &[
        "contrato",
        "informe",
        "pedido",
        "presupuesto",
        "plazo",
        "inventario",
        "pago",
        "albarán",
        "proyecto",
        "almacén",
        "seguro",
        "registro",
        "balance",
        "envío",
        "descuento",
        "plan",
        "recibo",
        "equipo",
        "turno",
        "acuerdo",
        "trámite",
        "aval",
    ],
    adjectives: &[
        "anual",
        "inicial",
        "urgente",
        "mensual",
        "revisado",
        "interno",
        "completo",
        "provisional",
        "firmado",
        "antiguo",
        "detallado",
        "definitivo",
    ],
    verbs: &[
        "revisar", "entregar", "pagar", "archivar", "medir", "cambiar", "anular", "traducir",
        "firmar", "ampliar", "repartir", "cerrar",
    ],
    asks: &[
        "Resume esta nota",
        "Revisa estas líneas",
        "Redacta una respuesta",
        "Qué queda",
    ],
    openings: &["En resumen", "Aquí está", "Primera revisión", "Síntesis"],
};

const RU: Vocabulary = Vocabulary {
    code: "ru",
    names: Names::Cyrillic,
    gap: " ",
    patterns: &[
        "{a} {n} для {x} содержит {#} строк по {c}.",
        "{x} просит {x} срочно {v} партию {#}, номер {c}.",
        "Счёт {c} на {#} рублей получили {x} и {x}.",
        "Если {x} потеряет {n} {c}, звоните {x} по линии {#}.",
        "В цехе {x} не хватает {#} деталей, {x} готов {v} лот {c}.",
        "Уточните у {x}, действует ли {n} {c}.",
    ],
    nouns: &[
        "договор",
        "отчёт",
        "заказ",
        "склад",
        "график",
        "платёж",
        "проект",
        "акт",
        "тариф",
        "запрос",
        "бюджет",
        "журнал",
        "полис",
        "возврат",
        "маршрут",
        "контракт",
        "остаток",
        "перечень",
        "протокол",
        "расчёт",
        "реестр",
        "чертёж",
    ],
    adjectives: &[
        "Новый",
        "Срочный",
        "Годовой",
        "Полный",
        "Точный",
        "Старый",
        "Общий",
        "Итоговый",
        "Открытый",
        "Закрытый",
        "Важный",
        "Первый",
    ],
    verbs: &[
        "проверить",
        "отправить",
        "оплатить",
        "измерить",
        "заменить",
        "отменить",
        "перевести",
        "подписать",
        "продлить",
        "разделить",
        "закрыть",
        "принять",
    ],
    asks: &[
        "Кратко изложи",
        "Проверь эти строки",
        "Составь ответ",
        "Что осталось",
    ],
    openings: &["Коротко", "Вот итог", "Первый взгляд", "Сводка"],
};

const ZH: Vocabulary = Vocabulary {
    code: "zh",
    names: Names::Han,
    gap: "",
    patterns: &[
        "{x}的{a}{n}共{#}项，编号{c}。",
        "请{x}在{#}日前{v}{n}，抄送{x}。",
        "发票{c}金额{#}元，由{x}转{x}。",
        "若{x}找不到{n}{c}，请致电{x}分机{#}。",
        "{x}工厂缺{#}件，{x}将{v}批次{c}。",
        "变量{x}读取{c}后{v}第{#}行。",
    ],
    nouns: &[
        "合同", "报告", "订单", "预算", "库存", "付款", "项目", "方案", "日程", "保单", "清单",
        "账目", "图纸", "流程", "租约", "样品", "货运", "审计", "病历", "排班", "标书", "退款",
    ],
    adjectives: &[
        "新版", "年度", "紧急", "内部", "完整", "临时", "已签", "旧版", "详细", "最终", "联合",
        "首批",
    ],
    verbs: &[
        "核对", "交付", "支付", "归档", "测量", "更换", "取消", "翻译", "签署", "延长", "拆分",
        "关闭",
    ],
    asks: &["请总结", "请核对以下", "写一封回复", "列出问题"],
    openings: &["简而言之：", "结果如下：", "初步看法：", "摘要："],
};

const JA: Vocabulary = Vocabulary {
    code: "ja",
    names: Names::Kana,
    gap: "",
    patterns: &[
        "{x}の{a}{n}は{#}件で番号{c}です。",
        "{x}は{x}宛の{n}を{#}日までに{v}します。",
        "請求書{c}の{#}円は{x}から{x}へ。",
        "{x}が{n}{c}を失えば{x}内線{#}へ。",
        "{x}工場で{#}個不足、{x}が{c}を{v}中。",
        "変数{x}は{c}の{#}行を{v}する。",
    ],
    nouns: &[
        "契約", "報告", "注文", "予算", "在庫", "支払", "企画", "日程", "保険", "一覧", "帳簿",
        "図面", "手順", "賃貸", "見本", "輸送", "監査", "診療", "勤務", "入札", "返金", "資料",
    ],
    adjectives: &[
        "新規",
        "年次",
        "緊急",
        "社内",
        "完全",
        "仮の",
        "署名済",
        "旧式",
        "詳細",
        "最終",
        "共同",
        "初回",
    ],
    verbs: &[
        "確認", "納品", "送金", "保管", "測定", "交換", "取消", "翻訳", "署名", "延長", "分割",
        "終了",
    ],
    asks: &["要約して", "確認して", "返信案を", "未決は"],
    openings: &["要点：", "結果：", "所見：", "概要："],
};

const KO: Vocabulary = Vocabulary {
    code: "ko",
    names: Names::Hangul,
    gap: " ",
    patterns: &[
        "{x}의 {a} {n} {#}건, 번호 {c}.",
        "{x} 님은 {x} 앞 {n} {#}호를 {v}합니다.",
        "청구서 {c} 금액 {#}원은 {x}에서 {x}로.",
        "{x} 측 {n} {c} 분실 시 {x} 내선 {#}.",
        "{x} 공장 {#}개 부족, {x}가 {c} {v} 예정.",
    ],
    nouns: &[
        "계약",
        "보고서",
        "주문",
        "예산",
        "재고",
        "지급",
        "과제",
        "일정",
        "보험",
        "목록",
        "장부",
        "도면",
        "절차",
        "임대",
        "견본",
        "운송",
        "감사",
        "진료",
        "근무표",
        "입찰",
        "환불",
        "자료",
    ],
    adjectives: &[
        "새로운",
        "연간",
        "긴급",
        "내부",
        "전체",
        "임시",
        "서명된",
        "이전",
        "상세",
        "최종",
        "공동",
        "첫",
    ],
    verbs: &[
        "확인", "납품", "송금", "보관", "측정", "교환", "취소", "번역", "서명", "연장", "분할",
        "종료",
    ],
    asks: &["요약해 줘", "확인 바람", "답장 초안", "남은 일"],
    openings: &["요점", "결과", "소견", "개요"],
};

const TH: Vocabulary = Vocabulary {
    code: "th",
    names: Names::Thai,
    gap: " ",
    patterns: &[
        "{n}{x}มี{#}รายการ รหัส{c}",
        "{x}ขอให้{x}{v}ก่อน{#} เลขที่{c}",
        "ใบแจ้งหนี้{c}ยอด{#}บาท ส่ง{x}และ{x}",
        "ถ้า{x}ไม่พบ{c}โทร{x}ต่อ{#}",
        "โรงงาน{x}ขาด{#}ชิ้น {x}จะ{v}{c}",
    ],
    nouns: &[
        "สัญญา",
        "รายงาน",
        "งบ",
        "คลัง",
        "แผนงาน",
        "บัญชี",
        "ใบสั่ง",
        "ตาราง",
        "ประกัน",
        "แบบ",
        "ค่าเช่า",
        "ขนส่ง",
        "ผลตรวจ",
        "เวร",
        "ประมูล",
        "เงินคืน",
    ],
    adjectives: &["ใหม่", "ด่วน", "รายปี", "ภายใน", "เต็ม", "เก่า"],
    verbs: &[
        "ตรวจ",
        "ส่งมอบ",
        "จ่าย",
        "เก็บ",
        "วัด",
        "เปลี่ยน",
        "ยกเลิก",
        "แปล",
        "เซ็น",
        "ต่ออายุ",
        "แบ่ง",
        "ปิด",
    ],
    asks: &["ช่วยสรุป", "ตรวจให้ที", "ร่างตอบ", "ค้างอะไร"],
    openings: &["สรุป", "ผล", "เบื้องต้น", "โดยย่อ"],
};
