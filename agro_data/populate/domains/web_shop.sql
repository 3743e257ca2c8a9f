CREATE TABLE categories (
    category_id INTEGER PRIMARY KEY,
    name VARCHAR(60) NOT NULL UNIQUE,
    parent_category_id INTEGER REFERENCES categories (category_id)
);

CREATE TABLE suppliers (
    supplier_id INTEGER PRIMARY KEY,
    company_name VARCHAR(80) NOT NULL UNIQUE,
    country VARCHAR(40) NOT NULL,
    contact_email VARCHAR(120),
    lead_time_days INTEGER NOT NULL
);

CREATE TABLE products (
    product_id INTEGER PRIMARY KEY,
    sku VARCHAR(12) NOT NULL UNIQUE,
    name VARCHAR(80) NOT NULL UNIQUE,
    category_id INTEGER NOT NULL REFERENCES categories (category_id),
    supplier_id INTEGER NOT NULL REFERENCES suppliers (supplier_id),
    unit_price DECIMAL(10, 2) NOT NULL CHECK (unit_price > 0),
    weight_grams INTEGER,
    units_in_stock INTEGER NOT NULL DEFAULT 0,
    discontinued BOOLEAN NOT NULL DEFAULT 0,
    launched_on DATE NOT NULL
);

CREATE TABLE customers (
    customer_id INTEGER PRIMARY KEY,
    full_name VARCHAR(80) NOT NULL,
    email VARCHAR(120) NOT NULL UNIQUE,
    country VARCHAR(40) NOT NULL,
    city VARCHAR(60) NOT NULL,
    signup_date DATE NOT NULL,
    loyalty_tier VARCHAR(10),
    referred_by INTEGER REFERENCES customers (customer_id)
);

CREATE TABLE promotions (
    promotion_id INTEGER PRIMARY KEY,
    code VARCHAR(16) NOT NULL UNIQUE,
    discount_percent INTEGER NOT NULL,
    starts_on DATE NOT NULL,
    ends_on DATE NOT NULL,
    CHECK (ends_on >= starts_on)
);

CREATE TABLE orders (
    order_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
    promotion_id INTEGER REFERENCES promotions (promotion_id),
    order_date DATE NOT NULL,
    status VARCHAR(12) NOT NULL,
    channel VARCHAR(12) NOT NULL,
    shipping_fee DECIMAL(8, 2) NOT NULL,
    total_amount DECIMAL(12, 2) NOT NULL
);

CREATE TABLE order_items (
    order_id INTEGER NOT NULL REFERENCES orders (order_id),
    line_number INTEGER NOT NULL,
    product_id INTEGER NOT NULL REFERENCES products (product_id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_price DECIMAL(10, 2) NOT NULL,
    line_total DECIMAL(12, 2) NOT NULL,
    PRIMARY KEY (order_id, line_number)
);

CREATE TABLE payments (
    payment_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (order_id),
    paid_at TIMESTAMP NOT NULL,
    method VARCHAR(16) NOT NULL,
    amount DECIMAL(12, 2) NOT NULL
);

CREATE TABLE shipments (
    shipment_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (order_id),
    carrier VARCHAR(30) NOT NULL,
    shipped_on DATE NOT NULL,
    delivered_on DATE,
    tracking_number VARCHAR(20) NOT NULL UNIQUE
);

CREATE TABLE reviews (
    review_id INTEGER PRIMARY KEY,
    product_id INTEGER NOT NULL REFERENCES products (product_id),
    customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
    rating INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5),
    review_text TEXT,
    created_at TIMESTAMP NOT NULL,
    helpful_votes INTEGER NOT NULL,
    UNIQUE (product_id, customer_id)
);
